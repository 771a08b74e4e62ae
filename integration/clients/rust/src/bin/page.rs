use arrow_cast::pretty::pretty_format_batches;
use arrow_flight::sql::client::FlightSqlServiceClient;
use futures::TryStreamExt;
use tonic::transport::Endpoint;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With TLS: https://, and .tls_config(ClientTlsConfig::new().ca_certificate(…)).
    let channel = Endpoint::from_shared(std::env::args().nth(1).unwrap())?.connect().await?;
    let mut client = FlightSqlServiceClient::new(channel); // client.handshake(user, password).await?, or client.set_token(key)
    let info = client.execute("SUBSCRIBE TO live".into(), None).await?;
    let mut changes = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await?;
    while let Some(batch) = changes.try_next().await? {
        let text = pretty_format_batches(&[batch])?.to_string();
        println!("{text}");
        if text.contains("| end ") {
            break; // dropping the stream cancels it; go on for the changes
        }
    }
    Ok(())
}
