//! Round trips to a Redis server, by all tasks over one connection, as the crate's documentation says.

use std::process;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use crate::closed_loop::Asked;

#[derive(Clone)]
pub(crate) struct Client(MultiplexedConnection);

impl Client {
    pub(crate) async fn connect(address: String) -> Self {
        let client = redis::Client::open(format!("redis://{address}")).expect("an address");
        let connection = client.get_multiplexed_async_connection().await;
        Self(connection.expect("the server answers"))
    }
}

impl Asked for Client {
    async fn ask(&self, task: usize, turn: u64) {
        let mut connection = self.0.clone();
        // Several subjects use the server at the same time while they warm up.
        let key = format!("net/{}/{task}", process::id());
        if turn == 0 {
            let () = connection.set(&key, 0).await.expect("the server sets");
        }
        let count: u64 = connection.incr(&key, 1).await.expect("the server counts");
        assert_eq!(count, turn + 1, "the answer to another request");
    }
}
