/** What that release kept in its table `memory`, made from the tables that hold it now. */

import type { Database } from '../../daemon/platform/sqlite.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
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
  "SELECT 'refund of ' || cid_text(payment), refund FROM now.payments",
  "SELECT 'refund for ' || interaction, refund_told FROM now.payments",
  "SELECT 'refunded ' || cid_text(payment), as_text(refunded) FROM now.payments",
  "SELECT 'refunded ' || cid_text(id), as_text(amount) FROM now.refunds",
  `SELECT 'lost holds accepted of ' || network, as_text(json_group_array(cid_text(payment))) FROM now.payments
     WHERE loss_accepted GROUP BY network`,
  "SELECT 'redemption ' || amount || ' ' || reference, authorization FROM now.redemptions",
  `SELECT 'signed by a lost copy ' || id, as_text(json_patch('{}', json_object('seq', seq, 'atMs', at, 'reason', reason,
     'counterparty', counterparty, 'authorization', as_base64(authorization), 'moved', moved))) FROM now.lost_orders`,
  "SELECT 'alarm about ' || hub, as_text(alarm) FROM now.hub_accounts",
  `SELECT 'ledger of ' || hub, as_text(json_patch('{}', json_object('seq', compared_seq, 'sum', compared_sum,
     'atMs', compared_at, 'acceptedSeq', accepted_seq))) FROM now.hub_accounts WHERE compared_seq IS NOT NULL`,
  "SELECT 'ledger accepted of ' || hub, as_text(accepted_until) FROM now.hub_accounts",
  `SELECT 'account refused by ' || hub, as_text(json_object('url', refused_url, 'code', refused_code)) FROM now.hub_accounts
     WHERE refused_url IS NOT NULL`,
  `SELECT 'supply of ' || hub, as_text(json_patch('{}', json_object('length', supply_length, 'head', as_base64url(supply_head),
     'issued', supply_issued, 'retired', supply_retired, 'roots', json(supply_roots)))) FROM now.hub_accounts
     WHERE supply_length IS NOT NULL`,
  `SELECT 'witnesses of ' || hub, as_text(json_object('lastMs', witnessed_at,
     'isStale', json(iif(witness_stale, 'true', 'false')), 'agreed', (SELECT json_group_array(json_array(seq, as_base64url(id)))
       FROM now.witnessed_records AS r WHERE r.hub = a.hub))) FROM now.hub_accounts AS a WHERE witnessed_at IS NOT NULL`,
  `SELECT 'lost orders asked of ' || hub, as_text(json_object('settledMs', lost_settled_at, 'atMs', lost_asked_at,
     'unproven', (SELECT json_group_array(json_object('state', 'unproven', 'seq', seq, 'transaction', id, 'amount', amount,
       'atMs', at, 'counterparty', counterparty, 'reason', reason)) FROM now.unproven_debits AS d WHERE d.hub = a.hub)))
     FROM now.hub_accounts AS a WHERE lost_asked_at IS NOT NULL`,
  `SELECT 'supply heads of ' || hub, as_text(json_group_array(json_array(seq, as_base64url(id))))
     FROM (SELECT * FROM now.supply_heads ORDER BY key) GROUP BY hub`,
  "SELECT 'priced task ' || id, as_text(open_price) FROM now.interactions",
  "SELECT 'running call ' || id, as_text(capability) FROM now.interactions WHERE call_begun",
  "SELECT kind || ':' || aid, proof FROM now.contradictions",
  "SELECT 'pow:' || hub, as_cbor(seed, nonce, not_after) FROM now.pow_solutions",
  `SELECT 'blackboard', as_text(json_group_object(name, json_object('version', version, 'text', text))) FROM now.notes
     HAVING count(*) > 0`,
  `SELECT 'answers of the auto-reply', as_text(json_group_array(json_patch('{}', json_object('interaction_id', interaction_id,
     'at', at, 'event', event, 'ms', ms, 'cost', cost)))) FROM (SELECT * FROM now.auto_replies ORDER BY key DESC)
     HAVING count(*) > 0`,
  `SELECT 'runs of the auto-reply', as_text(json_group_array(json_object('peer', peer, 'at', at, 'ms', ms)))
     FROM (SELECT * FROM now.auto_reply_runs ORDER BY key) HAVING count(*) > 0`,
  "SELECT 'key ' || seq || ' of ' || hub, as_text(at) FROM now.hub_keys_seen",
]

/** The statements that fill it; what there is no value of has no row. */
export const fillMemory: readonly string[] = ROWS.map(
  select =>
    `INSERT INTO main.memory WITH row (name, value) AS (${select}) SELECT * FROM row WHERE value IS NOT NULL`,
)

const functions: Readonly<Record<string, (...values: CborValue[]) => string | Uint8Array | null>> = {
  as_text: value => (value === null ? null : Buffer.from(String(value))),
  as_cbor: (...items) => encode(items),
  as_base64: bytes => toBase64(bytes as Uint8Array),
  as_base64url: bytes => toBase64url(bytes as Uint8Array),
  cid_text: cid => cidText(cid as Uint8Array),
}

/** Makes known what those statements call. */
export function addPreviousFunctions(database: Database): void {
  for (const [name, run] of Object.entries(functions))
    database.function(name, { varargs: true }, (...values) => run(...(values as CborValue[])))
}
