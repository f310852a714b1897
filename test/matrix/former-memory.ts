/** What that release kept in its table `memory`, made from the tables that hold it now. */

import type { Database } from '../../daemon/platform/sqlite.ts'
import { type CborValue, encode } from '../../protocol/encoding/cbor.ts'

/** Name and value of each row, as selects over `now`. */
const ROWS: readonly string[] = [
  "SELECT 'chain-checkpoint', chain_checkpoint FROM now.lasting",
  "SELECT 'restored from an archive', as_text(restored_from) FROM now.lasting",
  "SELECT 'contacts to ask after a restore', as_text('yes') FROM now.lasting WHERE contacts_due",
  `SELECT 'head that a peer holds', as_cbor(contradicting_peer, contradicting_length, contradicting_id) FROM now.lasting
     WHERE contradicting_peer IS NOT NULL`,
  "SELECT 'heads of a lost copy', as_cbor(lost_beyond, lost_kel_seq) FROM now.lasting WHERE lost_beyond IS NOT NULL",
  "SELECT 'old copy accepted', as_text('yes') FROM now.lasting WHERE copy_accepted",
  "SELECT 'key set due above those of lost copies', as_text(key_set_due) FROM now.lasting",
  "SELECT 'place', as_text(place) FROM now.lasting",
  "SELECT 'second copy', as_text(second_copy) FROM now.lasting",
  "SELECT 'taken over', as_text(taken_over) FROM now.lasting",
  "SELECT 'copy seen', as_text(copy_seen_at) FROM now.lasting",
  "SELECT 'new mailbox due', as_text('due') FROM now.lasting WHERE mailbox_due",
  "SELECT 'outbox made ready under', as_text(outbox_kel_seq) FROM now.lasting",
  "SELECT 'identity made anew', as_text(anew_at || ' ' || anew_from) FROM now.lasting",
  "SELECT 'last given up at', as_text(gave_up_at) FROM now.lasting",
  "SELECT 'capability-uses-day', as_text(uses_day) FROM now.lasting",
  `SELECT 'restores', as_text(json_group_array(json_object('madeAtMs', made_at, 'settledMs', settled_at, 'lastTask', last_task)))
     FROM (SELECT * FROM now.restores ORDER BY key) HAVING count(*) > 0`,
  "SELECT 'numbers answered by ' || peer, as_text(asked_at) FROM now.numbers_answered",
]

/** The statements that fill it; what there is no value of has no row. */
export const fillMemory: readonly string[] = ROWS.map(
  select =>
    `INSERT INTO main.memory WITH row (name, value) AS (${select}) SELECT * FROM row WHERE value IS NOT NULL`,
)

const functions: Readonly<Record<string, (...values: CborValue[]) => Uint8Array | null>> = {
  as_text: value => (value === null ? null : Buffer.from(String(value))),
  as_cbor: (...items) => encode(items),
}

/** Makes known what those statements call. */
export function addFormerFunctions(database: Database): void {
  for (const [name, run] of Object.entries(functions))
    database.function(name, { varargs: true }, (...values) => run(...(values as CborValue[])))
}
