//! The packages to run, and their features.
//!
//! Each package is a dependency of `programs`, whose lock file sets its version, and has a program of its name there.

/// A package of the registry.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// The features that its tests are compiled with, and no others.
    pub(crate) features: &'static str,
    /// Whether its program needs a Redis.
    pub(crate) needs_redis: bool,
}

const fn package(name: &'static str, features: &'static str) -> Package {
    Package {
        name,
        features,
        needs_redis: false,
    }
}

pub(crate) const PACKAGES: [Package; 15] = [
    package("tokio-stream", "full"),
    package("tokio-util", "full"),
    package("tokio-rustls", "logging,ring,tls12"),
    package("tokio-tungstenite", "connect,handshake,stream,url"),
    package("h2", "stream,unstable"),
    package("hyper", "full"),
    package("hyper-util", "full"),
    package("tower", "full"),
    package("tower-http", "full"),
    // Its tests use an attribute of their own, which this package provides.
    package(
        "axum",
        "default,http2,macros,multipart,ws,axum-macros/__private",
    ),
    package(
        "reqwest",
        "blocking,brotli,charset,cookies,deflate,form,gzip,http2,json,multipart,query,rustls-no-provider,socks,stream,zstd",
    ),
    package("tonic", "default,deflate,gzip,tls-ring,zstd"),
    package("bb8", "default"),
    package("sqlx", "default,postgres,runtime-tokio,sqlite"),
    Package {
        needs_redis: true,
        ..package(
            "redis",
            "default,cluster-async,connection-manager,tokio-comp",
        )
    },
];
