//! A server never drops the senders of its connections, so their tasks never end. Waiting is not an error, so no
//! problem is reported. The dump shows many old tasks of one location in the same wait.

use pointsman::runtime::Handle;
use pointsman::sync::mpsc::{self, Receiver, Sender};
use pointsman::task::{self, yield_now};

async fn serve(mut requests: Receiver<String>) {
    while let Some(request) = requests.recv().await {
        println!("{request}");
    }
}

async fn accept(mut clients: Receiver<(Sender<String>, Receiver<String>)>) {
    let mut connections = Vec::new();
    while let Some((client, requests)) = clients.recv().await {
        connections.push(client);
        task::spawn(serve(requests));
    }
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let (connect, clients) = mpsc::channel(8);
    let listener = task::Builder::new().name("accept");
    listener.spawn(accept(clients)).unwrap();
    for _ in 0..3 {
        connect.send(mpsc::channel(1)).await.unwrap();
    }
    for _ in 0..2 {
        yield_now().await;
    }
    eprint!("{}", Handle::current().dump());
}
