/** What steps of an upgrade call beside SQL: values that an earlier build kept in an encoding that SQLite does not read. */
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decode } from '../../protocol/encoding/cbor.ts'
import type { Database } from '../platform/sqlite.ts'

type Value = string | number | Uint8Array | null
const ofText = (text: Value, read: (text: string) => Uint8Array): Value =>
  text === null ? null : read(String(text))

const functions: Readonly<Record<string, (...values: Value[]) => Value>> = {
  /** An item of a CBOR list. */
  cbor_item: (list, at) => (decode(list as Uint8Array) as Value[])[Number(at)] ?? null,
  /** Bytes of a content id; null of null, as everywhere in SQL. */
  cid_bytes: text => ofText(text, parseCid),
  from_base64: text => ofText(text, fromBase64),
  from_base64url: text => ofText(text, fromBase64url),
  /** What follows such a beginning; null where a text begins otherwise. */
  rest: (text, start) =>
    String(text).startsWith(String(start)) ? String(text).slice(String(start).length) : null,
}

/** Makes them known to the connection that runs the steps. */
export function addUpgradeFunctions(database: Database): void {
  for (const [name, run] of Object.entries(functions))
    database.function(name, { deterministic: true, varargs: true }, (...values) =>
      run(...(values as Value[])),
    )
}
