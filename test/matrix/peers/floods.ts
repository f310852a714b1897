/** Many requests at once: of a peer, in its name, and for payments that nobody signed. */

import { random, request } from '../../../hub/testing/hub.ts'
import { ask, payment } from '../../../hub/testing/payments.ts'
import { signRequest } from '../../../protocol/wire3/signed-request.ts'
import type { HubSide } from './hub-side.ts'
import type { PeersWorld } from './world.ts'

const PATH = '/fed/v3/cards?cursor=0'
const AT_ONCE = 10

type Signer = { seed: Uint8Array; seq: number }

async function flood(here: HubSide, there: HubSide, signer: Signer, count: number): Promise<number[]> {
  const signed = (n: number) =>
    signRequest(
      {
        action: 'fed_cards',
        aid: there.aid,
        hub: here.aid,
        ts: there.clock.now() + n,
        method: 'GET',
        path: PATH,
        body: new Uint8Array(0),
      },
      signer,
    )
  const states: number[] = []
  for (let n = 1; n <= count; n++)
    states.push((await request(here.url + PATH, 'GET', { headers: signed(n) })).status)
  return states
}

/** Until the hub refuses. */
export async function manyRequests(here: HubSide, there: HubSide, count: number): Promise<void> {
  const { seed, seq } = there.hub.context.identity
  const states = await flood(here, there, { seed, seq }, count)
  if (!states.includes(429)) throw new Error(`no request of a flood was refused: ${states}`)
}

/** Under a key that the peer does not have. */
export async function forgedRequests(here: HubSide, there: HubSide, count: number): Promise<void> {
  const { seq } = there.hub.context.identity
  const states = await flood(here, there, { seed: random(32), seq: seq + 1 }, count)
  if (states.includes(200)) throw new Error('a forged request was answered')
}

/** Payments to an agent of this hub that nobody at the peer has signed. */
export async function forgedPayments(world: PeersWorld, here: HubSide, count: number): Promise<void> {
  const { alice, bob } = world.agents
  const [payer, payee] = here === world.west ? [alice, bob] : [bob, alice]
  for (let n = 0; n < count; n += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, () =>
      ask(here, 'x402Settle', payment(payer, payee, 1, { seed: random(32) }).request),
    )
    await world.through(some)
  }
}
