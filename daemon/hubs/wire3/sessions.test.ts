/** The session of first contacts, when the hub refuses it. */
import { expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { sealSession } from '../../../protocol/mail/session.ts'
import { Sessions } from './sessions.ts'

const HUB = `A${'a'.repeat(43)}`
const AID = `A${'b'.repeat(42)}a`
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const delivery = { digest: random(32), access: random(8) }

/** A hub that opens one session after the other. */
function opened() {
  let opens = 0
  const signed = async (_: unknown, { body }: { body: { epk: string } }) => {
    const sid = random(16)
    opens += 1
    const grant = { macKey: random(32), quota: 100, expMs: Date.now() + 3_600_000 }
    const { enc, ciphertext } = sealSession(fromBase64url(body.epk), { hub: HUB, sid, aid: AID }, grant)
    return { sid: toBase64url(sid), enc: toBase64url(enc), ct: toBase64url(ciphertext) }
  }
  const calls = { signed, timeMs: Date.now() } as unknown as ConstructorParameters<typeof Sessions>[0]
  const sessions = new Sessions(calls, HUB, { random, identity: { aid: AID } })
  return { sessions, opens: () => opens }
}

test('sends that need a session at the same time open one', async () => {
  const { sessions, opens } = opened()
  await Promise.all([1, 2, 3, 4, 5].map(() => sessions.headersFor(delivery)))
  expect(opens()).toBe(1)
})

test('of many refusals of one session only the first opens another', async () => {
  const { sessions, opens } = opened()
  const under = await Promise.all([1, 2, 3].map(() => sessions.headersFor(delivery)))
  const before = opens()
  for (const { sid } of under) {
    await sessions.refused(sid)
    await sessions.headersFor(delivery)
  }
  expect(opens()).toBe(before + 1)
})
