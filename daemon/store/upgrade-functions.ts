/** What steps of an upgrade call beside SQL: values that an earlier build kept in an encoding that SQLite does not read. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decode } from '../../protocol/encoding/cbor.ts'
import type { Database } from '../platform/sqlite.ts'

type Value = string | number | Uint8Array | null
const functions: Readonly<Record<string, (...values: Value[]) => Value>> = {
  /** An item of a CBOR list. */
  cbor_item: (list, at) => (decode(list as Uint8Array) as Value[])[Number(at)] ?? null,
  /** A content id in letters. */
  cid_text: cid => cidText(cid as Uint8Array),
  from_base64: text => fromBase64(text as string),
  from_base64url: text => fromBase64url(text as string),
}

/** Makes them known to the connection that runs the steps. */
export function addUpgradeFunctions(database: Database): void {
  for (const [name, run] of Object.entries(functions))
    database.function(name, { deterministic: true, varargs: true }, (...values) =>
      run(...(values as Value[])),
    )
}
