use pointsman::{sync::mpsc, time};

#[pointsman::main]
async fn main() {
    let (sender, mut receiver) = mpsc::channel(1);
    for number in 1..=3 {
        let sender = sender.clone();
        pointsman::spawn(async move {
            time::sleep(time::Duration::from_millis(1)).await;
            sender.send(number).await
        });
    }
    drop(sender);
    let mut sum = 0;
    while let Some(number) = receiver.recv().await {
        sum += number;
    }
    println!("{sum}");
}
