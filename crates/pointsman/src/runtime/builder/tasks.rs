//! Options for functions that are called for each task, and for panics of tasks.

use std::sync::Arc;

use super::super::hooks::{TaskMeta, UnhandledPanic};
use super::Builder;

impl Builder {
    /// Sets a function that is called for each task when it is spawned, before it can run, on the thread that spawns
    /// it. Not called for blocking functions and for tasks of a [`LocalSet`](crate::task::LocalSet).
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (ids, spawned) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .on_task_spawn(move |task| ids.send(task.id()).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async {});
    /// assert_eq!(spawned.recv(), Ok(task.id()));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_task_spawn<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.config.task_hooks.spawn = Some(Arc::new(call));
        self
    }

    /// Sets a function that a worker calls before each poll of a task. It must not block. Not called for blocking
    /// functions and for tasks of a [`LocalSet`](crate::task::LocalSet).
    ///
    /// If the function panics, `block_on` panics in a current-thread runtime, and the process aborts in a multi-thread
    /// runtime.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (polls, polled) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .on_before_task_poll(move |task| polls.send(task.id()).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async { pointsman::task::yield_now().await });
    /// let id = task.id();
    /// runtime.block_on(task).unwrap();
    /// assert_eq!(polled.try_iter().collect::<Vec<_>>(), [id, id]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_before_task_poll<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.config.task_hooks.before_poll = Some(Arc::new(call));
        self
    }

    /// Sets a function that is called after each poll of a task, including the last one; see
    /// [`on_before_task_poll`](Self::on_before_task_poll).
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (polls, polled) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .on_after_task_poll(move |task| polls.send(task.id()).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async {});
    /// let id = task.id();
    /// runtime.block_on(task).unwrap();
    /// assert_eq!(polled.recv(), Ok(id));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_after_task_poll<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.config.task_hooks.after_poll = Some(Arc::new(call));
        self
    }

    /// Sets a function that is called for each task when its future was dropped, and for each blocking function when it
    /// has returned or is cancelled. It is called before the [`JoinHandle`](crate::task::JoinHandle) gets the result. A
    /// panic of the function is ignored. Not called for tasks of a [`LocalSet`](crate::task::LocalSet).
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (ids, ended) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .on_task_terminate(move |task| ids.send(task.id()).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async {});
    /// let id = task.id();
    /// runtime.block_on(task).unwrap();
    /// assert_eq!(ended.try_recv(), Ok(id));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_task_terminate<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.config.task_hooks.terminate = Some(Arc::new(call));
        self
    }

    /// Sets what happens when a task panics. Default: [`UnhandledPanic::Ignore`].
    ///
    /// # Panics
    /// If the builder configures a multi-thread runtime and `behavior` is [`UnhandledPanic::ShutdownRuntime`].
    ///
    /// ```should_panic
    /// # use pointsman::runtime::Builder;
    /// use pointsman::runtime::UnhandledPanic;
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()
    ///     .unwrap();
    /// runtime.spawn(async { panic!("in a task") });
    /// // Panics instead of waiting for ever.
    /// runtime.block_on(std::future::pending::<()>());
    /// ```
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        assert!(
            !self.is_multi_thread || matches!(behavior, UnhandledPanic::Ignore),
            "UnhandledPanic::ShutdownRuntime is only supported in current thread runtime"
        );
        self.config.unhandled_panic = behavior;
        self
    }
}
