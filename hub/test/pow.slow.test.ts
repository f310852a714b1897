import { expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { solveRange } from '../../protocol/identity/pow.ts'
import { startTestHub, TestAgent } from '../testing/hub.ts'

const STEP = 1 << 20

test('an agent that has worked registers at an open hub, also after the hub was started again', {
  timeout: 1_800_000,
}, async () => {
  const hub = await startTestHub({ open: true })
  const agent = new TestAgent(hub)
  const challenge = (await agent.register()).json['challenge'] as { seed: string; bits: number }
  const task = { hub: hub.aid, aid: agent.aid, seed: fromBase64url(challenge.seed) }
  let nonce: Uint8Array | undefined
  for (let start = 0; nonce === undefined; start += STEP)
    nonce = solveRange(task, challenge.bits, start, STEP)
  await hub.restart()
  const pow = { seed: challenge.seed, nonce: toBase64url(nonce) }
  const other = new TestAgent(hub)
  expect((await other.register({ pow })).json['reason']).toBe('pow_required')
  expect((await agent.register({ pow })).json).toMatchObject({ status: 'registered', trial: 'pending' })
  await hub.close()
})
