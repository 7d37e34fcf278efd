//! A listener survives a temporary lack of descriptors. In its own file: the limit applies to the process.
#![cfg(all(target_os = "linux", feature = "net"))]

mod common;

use common::must_end;
use pointsman::net::TcpListener;
use pointsman::runtime::Builder;

fn limit() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `getrlimit` writes to a local that outlives the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    assert_eq!(result, 0);
    limit
}

fn set_limit(limit: libc::rlimit) {
    // SAFETY: `setrlimit` reads a local that outlives the call.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    assert_eq!(result, 0);
}

#[test]
fn accept_fails_and_works_again() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let client = std::net::TcpStream::connect(addr).unwrap();
            let before = limit();
            set_limit(libc::rlimit {
                rlim_cur: 0,
                ..before
            });
            let errors = [listener.accept().await, listener.accept().await];
            set_limit(before);
            for error in errors {
                assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EMFILE));
            }
            let (_, peer) = listener.accept().await.unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        });
    });
}
