//! arrow-rs's Flight SQL client, as an application uses it: clients PLAIN_HOST TLS_HOST CERTIFICATE

use std::sync::Arc;

use arrow_array::{Decimal128Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, cast::AsArray};
use arrow_flight::sql::client::{FlightSqlServiceClient, PreparedStatement};
use arrow_flight::sql::{
    CommandGetTables, CommandStatementIngest, EndTransaction, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use arrow_flight::FlightInfo;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use futures::{StreamExt, TryStreamExt, stream};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Client = FlightSqlServiceClient<Channel>;

async fn connect(url: String, certificate: Option<&str>) -> Result<Client> {
    let mut endpoint = Endpoint::from_shared(url)?;
    if let Some(path) = certificate {
        endpoint = endpoint.tls_config(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(std::fs::read(path)?)))?;
    }
    Ok(FlightSqlServiceClient::new(endpoint.connect().await?))
}

async fn fetch(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>> {
    let mut out = vec![];
    for endpoint in info.endpoint {
        out.extend(client.do_get(endpoint.ticket.expect("a ticket")).await?.try_collect::<Vec<_>>().await?);
    }
    Ok(out)
}

async fn query(client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>> {
    let info = client.execute(sql.to_string(), None).await?;
    fetch(client, info).await
}

/// All rows as text, columns divided by | and rows by a comma.
fn text(batches: &[RecordBatch]) -> Result<String> {
    let mut rows = vec![];
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells: std::result::Result<Vec<_>, _> =
                batch.columns().iter().map(|c| arrow_cast::display::array_value_to_string(c, row)).collect();
            rows.push(cells?.join("|"));
        }
    }
    Ok(rows.join(","))
}

async fn value(client: &mut Client, sql: &str) -> Result<String> {
    text(&query(client, sql).await?)
}

fn orders() -> Result<RecordBatch> {
    let zone: Arc<str> = "UTC".into();
    let place = vec![Field::new("city", DataType::Utf8, true)];
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("amount", DataType::Decimal128(10, 2), true),
        Field::new("sold_at", DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone())), true),
        Field::new("tags", DataType::List(Arc::new(Field::new("item", DataType::Int64, true))), true),
        Field::new("place", DataType::Struct(place.clone().into()), true),
    ]);
    let cities = Arc::new(StringArray::from(vec![Some("Oslo"), None]));
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(Int64Array::from(vec![1, 2])),
            Arc::new(Decimal128Array::from(vec![Some(950), None]).with_precision_and_scale(10, 2)?),
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_767_323_045_678_901), None]).with_timezone(zone)),
            Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(vec![Some(vec![Some(7), None]), None])),
            Arc::new(StructArray::try_new(place.into(), vec![cities], Some(vec![true, false].into()))?),
        ],
    )?)
}

async fn load_and_types(c: &mut Client) -> Result<()> {
    let sent = orders()?;
    let command = CommandStatementIngest {
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: TableNotExistOption::Create.into(),
            if_exists: TableExistsOption::Fail.into(),
        }),
        table: "rust_orders".into(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: Default::default(),
    };
    let loaded = c.execute_ingest(command, stream::iter([Ok(sent.clone())])).await?;
    assert_eq!(loaded, 2);
    let back = query(c, "SELECT * FROM rust_orders ORDER BY id").await?;
    assert_eq!(back.len(), 1);
    assert_eq!(text(&back)?, text(&[sent.clone()])?);
    for (got, want) in back[0].schema().fields().iter().zip(sent.schema().fields()) {
        assert!(got.data_type().equals_datatype(want.data_type()), "{got} {want}");
    }
    Ok(())
}

async fn prepared_statements(c: &mut Client) -> Result<()> {
    let mut find: PreparedStatement<Channel> = c.prepare("SELECT id FROM rust_orders WHERE amount > ? AND id < ?".into(), None).await?;
    assert_eq!(find.parameter_schema()?.field(0).data_type(), &DataType::Decimal128(10, 2));
    assert_eq!(find.dataset_schema()?.field(0).name(), "id");
    let types = Arc::new(Schema::new(vec![Field::new("1", DataType::Decimal128(10, 2), true), Field::new("2", DataType::Int64, true)]));
    for (below, want) in [(7, "1"), (1, "")] {
        let amount = Decimal128Array::from(vec![100]).with_precision_and_scale(10, 2)?;
        find.set_parameters(RecordBatch::try_new(types.clone(), vec![Arc::new(amount), Arc::new(Int64Array::from(vec![below]))])?)?;
        let info = find.execute().await?;
        assert_eq!(text(&fetch(c, info).await?)?, want);
    }
    find.close().await?;
    Ok(())
}

async fn transactions(c: &mut Client) -> Result<()> {
    for (end, want) in [(EndTransaction::Rollback, "2"), (EndTransaction::Commit, "1")] {
        let tx = c.begin_transaction().await?;
        assert_eq!(c.execute_update("DELETE FROM rust_orders WHERE id = 2".into(), Some(tx.clone())).await?, 1);
        c.end_transaction(tx, end).await?;
        assert_eq!(value(c, "SELECT count(*) FROM rust_orders").await?, want);
    }
    Ok(())
}

async fn metadata(c: &mut Client) -> Result<()> {
    let info = c.get_tables(CommandGetTables { table_name_filter_pattern: Some("rust\\_%".into()), ..Default::default() }).await?;
    assert_eq!(text(&fetch(c, info).await?)?, "lake|main|rust_orders|TABLE");
    Ok(())
}

async fn errors(c: &mut Client) -> Result<()> {
    let refused = value(c, "SELECT * FROM nobody_knows").await.expect_err("there is no such table").to_string();
    assert!(refused.contains("OBJECT_NOT_FOUND"), "{refused}");
    Ok(())
}

/// Dropping a stream cancels it on the server.
async fn cancel(c: &mut Client) -> Result<()> {
    let info = c.execute("SELECT i FROM range(1000000000000) t(i)".into(), None).await?;
    let mut rows = c.do_get(info.endpoint[0].ticket.clone().expect("a ticket")).await?;
    assert!(rows.next().await.expect("a batch")?.num_rows() > 0);
    drop(rows);
    assert_eq!(value(c, "SELECT 1").await?, "1");
    Ok(())
}

async fn views_and_subscription(c: &mut Client) -> Result<()> {
    query(c, "CREATE MATERIALIZED VIEW rust_total AS SELECT count(*) AS n FROM rust_orders").await?;
    let refreshed = query(c, "REFRESH MATERIALIZED VIEW rust_total").await?;
    assert_eq!(refreshed[0].column_by_name("mode").expect("the mode").as_string::<i32>().value(0), "no_op");
    assert_eq!(value(c, "SELECT n FROM rust_total").await?, "1");
    let now = value(c, "SELECT id FROM lake.current_snapshot()").await?;
    let changes = value(c, &format!("SUBSCRIBE TO rust_total WITH (up_to = {now})")).await?;
    assert!(changes.ends_with("end|") && changes.contains("|1||1,"), "{changes}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let mut plain = connect(format!("http://{}", args[1]), None).await?;
    assert!(value(&mut plain, "SELECT 1").await.expect_err("no login").to_string().contains("UNAUTHENTICATED"));
    plain.set_token("k1".into());
    assert_eq!(value(&mut plain, "SELECT 1").await?, "1");

    let mut c = connect(format!("https://{}", args[2]), Some(&args[3])).await?;
    c.handshake("ann", "secret").await?;
    load_and_types(&mut c).await?;
    prepared_statements(&mut c).await?;
    transactions(&mut c).await?;
    metadata(&mut c).await?;
    errors(&mut c).await?;
    views_and_subscription(&mut c).await?;
    cancel(&mut c).await?;
    println!("ok");
    Ok(())
}
