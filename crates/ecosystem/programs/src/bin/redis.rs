//! Pipelines and transactions over one connection that many tasks share.

use futures::future::try_join_all;
use redis::AsyncCommands;

#[tokio::main]
async fn main() -> redis::RedisResult<()> {
    let url = std::env::var("REDIS_URL").expect("REDIS_URL says where the server is");
    let client = redis::Client::open(url)?;
    let connection = client.get_multiplexed_async_connection().await?;
    redis::cmd("FLUSHDB")
        .exec_async(&mut connection.clone())
        .await?;

    let task = |number: usize| {
        let mut connection = connection.clone();
        tokio::spawn(async move {
            let key = format!("list:{number}");
            let mut pipeline = redis::pipe();
            for value in 0..100 {
                pipeline.rpush(&key, value).ignore();
            }
            pipeline.incr("total", 100).ignore().lrange(&key, 0, -1);
            let (values,): (Vec<usize>,) = pipeline.query_async(&mut connection).await?;
            assert_eq!(values, (0..100).collect::<Vec<_>>());
            let (first, second): (usize, usize) = redis::pipe()
                .atomic()
                .incr("together", 1)
                .incr("together", 1)
                .query_async(&mut connection)
                .await?;
            // No other command came between.
            assert_eq!(second, first + 1);
            redis::RedisResult::Ok(())
        })
    };
    for done in try_join_all((0..50).map(task))
        .await
        .expect("a task has failed")
    {
        done?;
    }
    let mut connection = connection;
    assert_eq!(connection.get::<_, usize>("total").await?, 5_000);
    assert_eq!(connection.get::<_, usize>("together").await?, 100);

    // A connection that waits for a message gets one that is sent on another.
    let mut subscriber = client.get_async_pubsub().await?;
    subscriber.subscribe("news").await?;
    connection.publish::<_, _, ()>("news", "something").await?;
    let message = futures::StreamExt::next(&mut subscriber.on_message()).await;
    assert_eq!(message.unwrap().get_payload::<String>()?, "something");

    let wrong: redis::RedisResult<usize> = connection.incr("list:0", 1).await;
    assert!(wrong.is_err());
    println!("5000 values by pipelines of 50 tasks over one connection");
    Ok(())
}
