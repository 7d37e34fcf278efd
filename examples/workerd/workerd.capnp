# The Worker, bundled by esbuild, and the service that it fetches from.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "worker",
      worker = (
        modules = [(name = "worker.js", esModule = embed "dist/worker.js")],
        bindings = [(name = "rates", service = "rates")],
        compatibilityDate = "2026-01-01",
      )
    ),
    (name = "rates", external = (http = ())),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "worker")],
);
