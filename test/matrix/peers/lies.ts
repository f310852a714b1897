/** Peers that answer what is not so. */
import { randomBytes } from 'node:crypto'
import type { HubIdentity } from '../../../hub/core/identity.ts'
import { ask, payment } from '../../../hub/testing/payments.ts'
import { fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import { SettlementReceipt } from '../../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../../protocol/proof/quote.ts'
import type { Answer } from './exchange.ts'
import type { HubSide } from './hub-side.ts'
import { type Fault, json } from './line.ts'
import type { Waiting } from './rows.ts'

const SETTLE = '/fed/v3/settle'
const RECEIPT = 'svc.settlement.receipt'
type Json = Record<string, unknown>

const html = (status: number): Answer => ({
  status,
  headers: { 'Content-Type': 'text/html' },
  body: Buffer.from('<html>come back later</html>'),
})
const bytes = (body: Buffer): Answer => ({ ...json({}), body })

/** One kind of garbage after another, none of which carries anything out. */
export function garbage(): Fault {
  const kinds: (() => Answer)[] = [
    () => html(200),
    () => html(502),
    () => bytes(Buffer.from('{"success":tru')),
    () => bytes(randomBytes(5000)),
    () => json([]),
    () => json({ success: true, status: 'queued', rid: 'x', items: [], reviews: 7, cards: null }),
    () => ({ status: 302, headers: { Location: 'http://127.0.0.1:1/' }, body: Buffer.alloc(0) }),
    () => bytes(Buffer.alloc(9 * 1024 * 1024, 0x20)),
  ]
  let next = 0
  return async () => (kinds[next++ % kinds.length] as () => Answer)()
}

const CODES = ['not_peer', 'source_rate', 'unauthorized', 'unknown_destination', 'ts_stale', 'no_such_code']

/** Refusals with one code after another, none of which carries anything out. */
export function refuses(): Fault {
  let next = 0
  return async () => {
    const reason = CODES[next++ % CODES.length]
    return { ...json({ error: 'no', reason, floor: Number.MAX_SAFE_INTEGER }), status: 403 }
  }
}

/** What the peer signs is changed on its way, by itself. */
const settling =
  (change: (answer: Json) => Json | undefined): Fault =>
  async ({ path }, pass) => {
    const answer = await pass()
    if (path !== SETTLE || answer === undefined) return undefined
    const changed = change(JSON.parse(answer.body.toString()) as Json)
    return changed && json(changed)
  }

/** Payments are made and holds ended, and called refused. */
export const refusesAll: Fault = settling(({ network }) => ({
  success: false,
  errorReason: 'insufficient_funds',
  errorMessage: 'no',
  transaction: '',
  network,
}))

/** It tells the receipt of another payment, that of the hold for its end, or a number of its own. */
export async function lies(
  waiting: Waiting,
  meanwhile: (waiting: Waiting, hub: HubSide, fault: Fault) => Promise<void>,
): Promise<void> {
  const { world, here, there } = waiting
  const other = await elsewhere(waiting)
  const first = world.payments.at(-1)?.told[0]?.body
  for (const receipt of [other, first && Buffer.from('none')]) {
    if (receipt === undefined) continue
    const told = toBase64url(receipt)
    await meanwhile(
      waiting,
      here,
      settling(answer => ({
        ...answer,
        success: true,
        transaction: answer['transaction'] ?? 'x',
        network: answer['network'] ?? 'x',
        payer: there.aid,
        amount: '1',
        extensions: { [RECEIPT]: told, [END_EXTENSION]: told },
      })),
    )
  }
}

/** A payment that the peer makes between two of its own agents, as it signed it. */
async function elsewhere({ world, there }: Waiting): Promise<Uint8Array> {
  const payer = there === world.east ? world.agents.alice : world.agents.bob
  const payee = await world.registered(there)
  const paid = payment(payer, payee, 1)
  world.had.set(payer, (world.had.get(payer) ?? 0) - 1)
  world.had.set(payee, 1)
  const { json: answer } = await ask(there, 'x402Settle', paid.request)
  if (answer['success'] !== true) {
    world.had.set(payer, (world.had.get(payer) ?? 0) + 1)
    world.had.delete(payee)
    return randomBytes(100)
  }
  return fromBase64url((answer['extensions'] as Record<string, string>)[RECEIPT] as string)
}

/** Everything that the peer signs is signed under another key of its past. */
export function forked(fork: HubIdentity): Fault {
  return async ({ path }, pass) => {
    const answer = await pass()
    if (answer === undefined) return undefined
    const told = JSON.parse(answer.body.toString()) as Json
    if ('kel' in told) return json({ ...told, kel: toBase64url(encodeKel(fork.kel.events)) })
    const extensions = told['extensions'] as Record<string, string> | undefined
    if (path !== SETTLE || extensions?.[RECEIPT] === undefined) return undefined
    const { body } = SettlementReceipt.decode(fromBase64url(extensions[RECEIPT]))
    const signed = SettlementReceipt.sign(fork.seed, { ...body, hubKelSeq: fork.seq })
    return json({
      ...told,
      extensions: { ...extensions, [RECEIPT]: toBase64url(SettlementReceipt.encode(signed)) },
    })
  }
}
