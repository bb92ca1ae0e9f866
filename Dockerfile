# docker build -t dyno .
# docker run --rm --network host -v "$PWD:/data" dyno run oltp_read_write --target mysql://user@127.0.0.1/db

FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

FROM debian:bookworm-slim
RUN useradd --uid 1000 --create-home --home-dir /data dyno
COPY --from=build /src/target/release/dyno /usr/local/bin/dyno
COPY workloads /usr/local/share/dyno/workloads
USER dyno
WORKDIR /data
ENTRYPOINT ["dyno"]
