//! The methods that bounded and unbounded receivers share.

/// The methods of both receivers. A macro, so that each has its methods with examples of its own.
macro_rules! receive_methods {
    ($make:literal, $send:literal) => {
        /// Receives the next message. `None` means that the channel is closed and empty.
        ///
        /// Cancel safe: a cancelled call has received no message.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.recv().await, Some(1));
        /// # });
        /// ```
        pub async fn recv(&mut self) -> Option<T> {
            poll_fn(|cx| self.poll_recv(cx)).await
        }

        /// Receives up to `limit` messages and appends them to `buffer`; waits only if there is none. Returns
        /// the number received: 0 if the channel is closed and empty, or `limit` is 0.
        ///
        /// Cancel safe: a cancelled call has received no message.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// let mut messages = Vec::new();
        /// assert_eq!(rx.recv_many(&mut messages, 10).await, 1);
        /// # });
        /// ```
        pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
            poll_fn(|cx| self.poll_recv_many(cx, buffer, limit)).await
        }

        /// Receives the next message if there is one. May block for a moment until a send in progress
        /// completes.
        ///
        /// # Errors
        /// [`TryRecvError::Empty`] if there is no message yet, [`TryRecvError::Disconnected`] if the channel
        /// is closed and empty.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.try_recv(), Ok(1));
        /// assert!(rx.try_recv().is_err());
        /// ```
        pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
            self.0.try_recv()
        }

        /// Like [`recv`](Self::recv), but blocks the thread.
        ///
        /// # Panics
        /// Within a runtime.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.blocking_recv(), Some(1));
        /// ```
        #[track_caller]
        pub fn blocking_recv(&mut self) -> Option<T> {
            block_outside(self.recv())
        }

        /// Like [`recv_many`](Self::recv_many), but blocks the thread.
        ///
        /// # Panics
        /// Within a runtime.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let mut messages = Vec::new();
        /// assert_eq!(rx.blocking_recv_many(&mut messages, 10), 1);
        /// assert_eq!(messages, [1]);
        /// ```
        #[track_caller]
        pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
            block_outside(self.recv_many(buffer, limit))
        }

        /// Closes the channel: later sends fail. Messages sent before can still be received, and permits
        /// reserved before can still be used.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// rx.close();
        /// assert!(tx.is_closed());
        /// assert_eq!(rx.recv().await, Some(1));
        /// assert_eq!(rx.recv().await, None);
        /// # });
        /// ```
        pub fn close(&mut self) {
            self.0.close();
        }

        /// Returns whether the channel is closed: [`close`](Self::close) was called or all senders are
        /// dropped. There may still be messages.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert!(!rx.is_closed());
        /// drop(tx);
        /// assert!(rx.is_closed());
        /// assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn is_closed(&self) -> bool {
            self.0.is_closed()
        }

        /// Returns whether there are no messages.
        ///
        /// ```
        #[doc = $make]
        /// assert!(rx.is_empty());
        #[doc = $send]
        /// assert!(!rx.is_empty());
        /// ```
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.0.len() == 0
        }

        /// Returns the number of messages.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.len(), 1);
        /// rx.try_recv().unwrap();
        /// assert_eq!(rx.len(), 0);
        /// ```
        #[must_use]
        pub fn len(&self) -> usize {
            self.0.len()
        }

        /// Polls for the next message. Only the waker of the last call is woken.
        ///
        /// ```
        /// use std::task::{Context, Poll, Waker};
        ///
        #[doc = $make]
        /// let mut cx = Context::from_waker(Waker::noop());
        /// assert!(rx.poll_recv(&mut cx).is_pending());
        #[doc = $send]
        /// assert_eq!(rx.poll_recv(&mut cx), Poll::Ready(Some(1)));
        /// ```
        #[inline]
        pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
            self.0.poll_recv(cx)
        }

        /// Polls for up to `limit` messages. Only the waker of the last call is woken.
        ///
        /// ```
        /// use std::task::{Context, Poll, Waker};
        ///
        #[doc = $make]
        /// let (mut cx, mut messages) = (Context::from_waker(Waker::noop()), Vec::new());
        /// assert!(rx.poll_recv_many(&mut cx, &mut messages, 10).is_pending());
        #[doc = $send]
        /// assert_eq!(rx.poll_recv_many(&mut cx, &mut messages, 10), Poll::Ready(1));
        /// assert_eq!(messages, [1]);
        /// ```
        pub fn poll_recv_many(
            &mut self,
            cx: &mut Context<'_>,
            buffer: &mut Vec<T>,
            limit: usize,
        ) -> Poll<usize> {
            self.0.poll_recv_many(cx, buffer, limit)
        }

        /// Returns the number of senders.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let other = tx.clone();
        /// assert_eq!(rx.sender_strong_count(), 2);
        /// drop((tx, other));
        /// assert_eq!(rx.sender_strong_count(), 0);
        /// # assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn sender_strong_count(&self) -> usize {
            self.0.channel().strong_count()
        }

        /// Returns the number of weak senders.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let weak = tx.downgrade();
        /// assert_eq!(rx.sender_weak_count(), 1);
        /// drop(weak);
        /// assert_eq!(rx.sender_weak_count(), 0);
        /// # assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn sender_weak_count(&self) -> usize {
            self.0.channel().weak_count()
        }
    };
}
