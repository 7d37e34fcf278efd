//! Transactions under contention: money that many tasks transfer is neither lost nor created. In SQLite, and in
//! Postgres if `DATABASE_URL` is set.

use std::time::Duration;

use futures::future::join_all;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

const ACCOUNTS: i64 = 8;
const TASKS: i64 = 16;
const MOVES: i64 = 10;

/// The same for each kind of database. `begin` takes the lock that writers need.
macro_rules! try_database {
    ($pool:expr, $begin:literal) => {{
        let pool = $pool;
        sqlx::query("CREATE TABLE account (id BIGINT PRIMARY KEY, money BIGINT NOT NULL)")
            .execute(&pool)
            .await
            .unwrap();
        for id in 0..ACCOUNTS {
            sqlx::query("INSERT INTO account VALUES ($1, 1000)")
                .bind(id)
                .execute(&pool)
                .await
                .unwrap();
        }
        let tasks = (0..TASKS).map(|number| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for turn in 0..MOVES {
                    let (from, to) = ((number + turn) % ACCOUNTS, (number * 3 + turn + 1) % ACCOUNTS);
                    let mut transaction = pool.begin_with($begin).await.unwrap();
                    // Always in the same order, to avoid deadlock.
                    for id in [from.min(to), from.max(to)] {
                        let change = i64::from(id == to) - i64::from(id == from);
                        sqlx::query("UPDATE account SET money = money + $1 WHERE id = $2")
                            .bind(change * 10)
                            .bind(id)
                            .execute(&mut *transaction)
                            .await
                            .unwrap();
                    }
                    // Every third is rolled back by being dropped, as if its task had been cancelled.
                    match turn % 3 {
                        0 => drop(transaction),
                        _ => transaction.commit().await.unwrap(),
                    }
                }
            })
        });
        for done in join_all(tasks).await {
            done.unwrap();
        }
        // SQLite's sum is an integer, Postgres's a decimal.
        let (sum,): (i64,) = sqlx::query_as("SELECT CAST(SUM(money) AS BIGINT) FROM account")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(sum, ACCOUNTS * 1000);
        let twice = sqlx::query("INSERT INTO account VALUES (0, 0)").execute(&pool).await;
        assert!(twice.unwrap_err().into_database_error().unwrap().is_unique_violation());
        pool.close().await;
    }};
}

#[tokio::main]
async fn main() {
    let file = std::env::temp_dir().join(format!("programs-sqlx-{}.db", std::process::id()));
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(20));
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options);
    try_database!(pool.await.unwrap(), "BEGIN IMMEDIATE");
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", file.display()));
    }

    let mut databases = "SQLite".to_owned();
    if let Ok(url) = std::env::var("DATABASE_URL") {
        let schema = format!("programs_{}", std::process::id());
        let set = format!("CREATE SCHEMA IF NOT EXISTS {schema}");
        let path = format!("SET search_path TO {schema}");
        let admin = PgPoolOptions::new().connect(&url).await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(set))
            .execute(&admin)
            .await
            .unwrap();
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .after_connect(move |connection, _| {
                let path = path.clone();
                Box::pin(async move {
                    sqlx::query(sqlx::AssertSqlSafe(path))
                        .execute(connection)
                        .await?;
                    Ok(())
                })
            })
            .connect(&url);
        try_database!(pool.await.unwrap(), "BEGIN");
        let drop = format!("DROP SCHEMA {schema} CASCADE");
        sqlx::query(sqlx::AssertSqlSafe(drop))
            .execute(&admin)
            .await
            .unwrap();
        databases += " and Postgres";
    }
    println!(
        "{} transactions of {TASKS} tasks in {databases}",
        TASKS * MOVES
    );
}
