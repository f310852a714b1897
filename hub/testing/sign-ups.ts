/** For tests: newcomers of an open hub, who work for their accounts and come from some address. */
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { solveRange } from '../../protocol/identity/pow.ts'
import { type Reply, TestAgent, type TestHub } from './hub.ts'

const NONCES_MAX = 1 << 20

export type Proof = { seed: string; nonce: string }

/** Registers with a proof, or with none, as from an address. */
export function registerFrom(agent: TestAgent, address: string, pow?: Proof): Promise<Reply> {
  if (agent.log.home !== agent.target.aid) agent.rotate()
  const body = { aid: agent.aid, kel: agent.kel, ...(pow === undefined ? {} : { pow }) }
  return agent.call('register', body, { headers: { 'X-Forwarded-For': address } })
}

/** Does the work that the hub asks of this agent; for hubs that ask little. */
export async function workFor(agent: TestAgent, address: string): Promise<Proof> {
  const { json } = await registerFrom(agent, address)
  const challenge = json['challenge'] as { seed: string; bits: number } | undefined
  if (challenge === undefined) throw new Error(`no challenge: ${JSON.stringify(json)}`)
  const task = { hub: agent.target.aid, aid: agent.aid, seed: fromBase64url(challenge.seed) }
  const nonce = solveRange(task, challenge.bits, 0, NONCES_MAX)
  if (nonce === undefined) throw new Error('too much work for a test')
  return { seed: challenge.seed, nonce: toBase64url(nonce) }
}

/** A newcomer who has worked for its account and not asked for it yet. */
export async function newcomer(hub: TestHub, address: string): Promise<{ agent: TestAgent; pow: Proof }> {
  const agent = new TestAgent(hub)
  return { agent, pow: await workFor(agent, address) }
}
