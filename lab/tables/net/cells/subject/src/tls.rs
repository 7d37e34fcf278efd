//! TLS with a certificate that the program signs itself at its start.

use std::path::Path;
use std::sync::Arc;

use rcgen::CertifiedKey;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Writes the certificate to this file, for the load.
pub(crate) fn acceptor(certificate: &Path) -> TlsAcceptor {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(certificate, cert.der()).expect("room for a file");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a key that fits the certificate");
    TlsAcceptor::from(Arc::new(config))
}
