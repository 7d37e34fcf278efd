//! The arguments of the attributes.
//!
//! Invariant: an error names the argument, the value and what was expected, and points to it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Lit, LitBool, LitInt, LitStr, Path, Result, Token};

/// The attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Test,
}

/// The runtime that runs the function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flavor {
    MultiThread,
    CurrentThread,
    Local,
}

const NAMES: &str =
    "`flavor`, `worker_threads`, `start_paused`, `seeds`, `name`, `unhandled_panic` or `crate`";

/// An argument's value and its span.
struct Given<T> {
    value: T,
    span: Span,
}

/// The parsed arguments.
#[derive(Default)]
pub(crate) struct Arguments {
    flavor: Option<Given<Flavor>>,
    worker_threads: Option<Given<LitInt>>,
    start_paused: Option<Given<LitBool>>,
    /// Whether the panic of a task ends the runtime.
    unhandled_panic: Option<Given<bool>>,
    seeds: Option<Given<LitInt>>,
    name: Option<Given<LitStr>>,
    path: Option<Given<Path>>,
}

/// Stores the value of an argument that may be given once.
fn keep<T>(place: &mut Option<Given<T>>, name: &Ident, value: T) -> Result<()> {
    if place.is_some() {
        return Err(Error::new(
            name.span(),
            format!("`{name}` is given more than once"),
        ));
    }
    *place = Some(Given {
        value,
        span: name.span(),
    });
    Ok(())
}

/// The error for an invalid value.
fn unexpected(name: &Ident, given: &impl ToTokens, expected: &str) -> Error {
    Error::new_spanned(
        given,
        format!(
            "`{name}` cannot be `{}`: expected {expected}",
            given.to_token_stream()
        ),
    )
}

fn string(name: &Ident, value: &Lit, expected: &str) -> Result<LitStr> {
    match value {
        Lit::Str(string) => Ok(string.clone()),
        other => Err(unexpected(name, other, expected)),
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            // `crate` is a keyword.
            let name = input.call(Ident::parse_any)?;
            if !input.peek(Token![=]) {
                return Err(Error::new(
                    name.span(),
                    format!(
                        "`{name}` stands alone: expected `name = value`, where the name is {NAMES}"
                    ),
                ));
            }
            input.parse::<Token![=]>()?;
            let value = input.parse::<Lit>().map_err(|error| {
                Error::new(error.span(), format!("`{name}` expects a literal value"))
            })?;
            arguments.add(&name, &value)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

impl Arguments {
    fn add(&mut self, name: &Ident, value: &Lit) -> Result<()> {
        match name.to_string().as_str() {
            "flavor" => {
                let expected = "\"multi_thread\", \"current_thread\" or \"local\"";
                let flavor = match string(name, value, expected)?.value().as_str() {
                    "multi_thread" => Flavor::MultiThread,
                    "current_thread" => Flavor::CurrentThread,
                    "local" => Flavor::Local,
                    _ => return Err(unexpected(name, value, expected)),
                };
                keep(&mut self.flavor, name, flavor)
            }
            "worker_threads" => match value {
                Lit::Int(count) if count.base10_parse::<usize>().is_ok_and(|count| count > 0) => {
                    keep(&mut self.worker_threads, name, count.clone())
                }
                other => Err(unexpected(name, other, "a whole number from 1 on")),
            },
            "start_paused" => match value {
                Lit::Bool(paused) => keep(&mut self.start_paused, name, paused.clone()),
                other => Err(unexpected(name, other, "true or false")),
            },
            "seeds" => match value {
                Lit::Int(count) if count.base10_parse::<u64>().is_ok_and(|count| count > 0) => {
                    keep(&mut self.seeds, name, count.clone())
                }
                other => Err(unexpected(name, other, "a whole number from 1 on")),
            },
            "unhandled_panic" => {
                let expected = "\"ignore\" or \"shutdown_runtime\"";
                let ends = match string(name, value, expected)?.value().as_str() {
                    "ignore" => false,
                    "shutdown_runtime" => true,
                    _ => return Err(unexpected(name, value, expected)),
                };
                keep(&mut self.unhandled_panic, name, ends)
            }
            "name" => keep(&mut self.name, name, string(name, value, "a string")?),
            "crate" => {
                let expected = "a path in a string, such as \"renamed\"";
                let path = string(name, value, expected)?
                    .parse_with(Path::parse_mod_style)
                    .map_err(|_| unexpected(name, value, expected))?;
                keep(&mut self.path, name, path)
            }
            _ => Err(Error::new(
                name.span(),
                format!("there is no argument `{name}`: expected {NAMES}"),
            )),
        }
    }

    fn library(&self, default: &TokenStream) -> TokenStream {
        match &self.path {
            Some(path) => path.value.to_token_stream(),
            None => default.clone(),
        }
    }

    /// Checks the argument `seeds`. Returns the path of the function that explores, and the number of seeds; `None` without the
    /// argument.
    pub(crate) fn exploration(
        &self,
        kind: Kind,
        library: &TokenStream,
    ) -> Result<Option<(TokenStream, u64)>> {
        let Some(seeds) = &self.seeds else {
            return Ok(None);
        };
        let multi_thread = |it: &&Given<Flavor>| it.value == Flavor::MultiThread;
        let flavor = self.flavor.as_ref().filter(multi_thread);
        let running = self.start_paused.as_ref().filter(|it| !it.value.value);
        let conflicts = [
            (kind == Kind::Main).then_some((seeds.span, "`seeds` is an argument of `test` only")),
            flavor.map(|it| (it.span, "`seeds` needs a runtime of one thread")),
            running.map(|it| (it.span, "`seeds` needs a paused clock")),
            self.name
                .as_ref()
                .map(|it| (it.span, "`name` cannot be given with `seeds`")),
            self.unhandled_panic
                .as_ref()
                .map(|it| (it.span, "`unhandled_panic` cannot be given with `seeds`")),
        ];
        if let Some((span, message)) = conflicts.into_iter().flatten().next() {
            return Err(Error::new(span, message));
        }
        let path = self.library(library);
        let count = seeds.value.base10_parse::<u64>()?;
        Ok(Some((quote!(#path::test_util::explore), count)))
    }

    /// Checks what depends on the flavor, and generates the code that builds the runtime, of `library` unless another
    /// crate is given.
    pub(crate) fn runtime(&self, kind: Kind, library: &TokenStream) -> Result<TokenStream> {
        let flavor = match (&self.flavor, kind) {
            (Some(flavor), _) => flavor.value,
            (None, Kind::Main) => Flavor::MultiThread,
            (None, Kind::Test) => Flavor::CurrentThread,
        };
        let workers = self.worker_threads.as_ref().map(|it| it.span);
        let paused = self.start_paused.as_ref().map(|it| it.span);
        let panics = self.unhandled_panic.as_ref().map(|it| it.span);
        let one_thread = "`flavor = \"current_thread\"` or `flavor = \"local\"`";
        let (constructor, excluded) = match flavor {
            Flavor::MultiThread => (
                "new_multi_thread",
                [
                    ("start_paused", paused, one_thread),
                    ("unhandled_panic", panics, one_thread),
                ],
            ),
            Flavor::CurrentThread | Flavor::Local => (
                "new_current_thread",
                [
                    ("worker_threads", workers, "`flavor = \"multi_thread\"`"),
                    ("", None, ""),
                ],
            ),
        };
        for (name, span, needed) in excluded {
            if let Some(span) = span {
                return Err(Error::new(span, format!("`{name}` needs {needed}")));
            }
        }

        let path = self.library(library);
        let constructor = Ident::new(constructor, Span::call_site());
        let mut builder = quote!(#path::runtime::Builder::#constructor());
        if let Some(count) = &self.worker_threads {
            let count = &count.value;
            builder = quote!(#builder.worker_threads(#count));
        }
        if let Some(paused) = &self.start_paused {
            let paused = &paused.value;
            builder = quote!(#builder.start_paused(#paused));
        }
        if let Some(ends) = &self.unhandled_panic {
            let behavior = match ends.value {
                true => quote!(ShutdownRuntime),
                false => quote!(Ignore),
            };
            builder = quote!(#builder.unhandled_panic(#path::runtime::UnhandledPanic::#behavior));
        }
        if let Some(name) = &self.name {
            let name = &name.value;
            builder = quote!(#builder.name(#name));
        }
        let build = match flavor {
            Flavor::Local => quote!(build_local(::core::default::Default::default())),
            _ => quote!(build()),
        };
        Ok(quote!(#builder.enable_all().#build))
    }
}
