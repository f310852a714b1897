/** Witnesses of a hub as its nodes see them (objects: supply): what contradicts ends payments, and silence is told. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import type { ShownStatement } from '../../daemon/hubs/hub.ts'
import type { Node } from '../../daemon/node.ts'
import { TestAgent } from '../../hub/testing/hub.ts'
import { grant } from '../../hub/testing/payments.ts'
import { namedWitness, sendStatement, statementAt } from '../../hub/testing/witnesses.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { type Lab, never, openLab } from './world.ts'

let lab: Lab
let alice: Node
let witness: TestAgent
beforeAll(async () => {
  lab = await openLab()
  alice = await lab.member('alice')
  witness = await namedWitness(lab.hub)
})
beforeEach(async () => {
  lab.hub.clock.advance(1000)
  await grant(lab.hub, alice.aid, 1)
})
afterAll(() => lab.close())

const audit = (more: object = {}) => alice.handlers.auditHub(more, never)
const warnings = async (): Promise<string> =>
  (await alice.handlers.status(undefined, never)).warnings.join('\n')
const home = () => {
  const { home } = alice.ctx.hub
  if (home === undefined) throw new Error('no hub')
  return home
}
const asShown = ({ attestation, kel }: { attestation: string; kel: string }): ShownStatement => ({
  bytes: fromBase64url(attestation),
  kel: fromBase64url(kel),
})

/** The hub shows what it would not keep. */
async function showing<T>(more: ShownStatement[], work: () => Promise<T>): Promise<T> {
  const { credits } = home()
  const honest = credits.witnessStatements.bind(credits)
  credits.witnessStatements = async signal => [...(await honest(signal)), ...more]
  try {
    return await work()
  } finally {
    credits.witnessStatements = honest
  }
}

describe('an audit', () => {
  test('tells what was witnessed last, and agrees with it', async () => {
    expect(await audit()).not.toHaveProperty('witnessed_seq')
    await sendStatement(lab.hub, witness)
    const { seq } = lab.hub.running.hub.supply.head
    expect(await audit()).toMatchObject({
      verified: true,
      witnessed_seq: seq,
      witnessed_at: expect.any(Number),
    })
    expect(await audit()).toMatchObject({ verified: true, witnessed_seq: seq })
  })

  test('ends payments when a witness signed another record at a place', async () => {
    const other = statementAt(lab.hub, witness, { headId: contentId(Uint8Array.of(1)) })
    const report = await showing([asShown(other)], () => audit())
    expect(report.fault).toContain(`witness ${witness.aid} signed another one`)
    expect(await warnings()).toContain('nothing is paid in credits of')
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('also at a place that it has read past long ago', async () => {
    await audit()
    const other = statementAt(lab.hub, witness, { seq: 1, headId: contentId(Uint8Array.of(2)) })
    expect((await showing([asShown(other)], () => audit())).fault).toMatch(
      /record 1 of .* signed another one/,
    )
    await audit({ accept: true })
  })

  test('ends payments when a witness has seen more than the hub shows', async () => {
    const { seq } = lab.hub.running.hub.supply.head
    const later = statementAt(lab.hub, witness, { seq: seq + 1, headId: contentId(Uint8Array.of(3)) })
    expect((await showing([asShown(later)], () => audit())).fault).toContain('and it is missing')
    await audit({ accept: true })
  })

  test('goes by no statement that is not signed, is about another hub, or is by the hub itself', async () => {
    const headId = contentId(Uint8Array.of(4))
    const stranger = new TestAgent(lab.hub)
    const unsigned = asShown(statementAt(lab.hub, witness, { headId }, stranger.seed))
    const elsewhere = asShown(statementAt(lab.hub, witness, { headId, chainDid: `did:svc:${stranger.aid}` }))
    const { kel: _, ...unknown } = asShown(statementAt(lab.hub, stranger, { headId }))
    const junk = { bytes: Uint8Array.of(1, 2, 3), kel: Uint8Array.of(4) }
    const shown = [unsigned, elsewhere, { ...unknown, kel: undefined }, junk]
    expect(await showing(shown, () => audit())).toMatchObject({ verified: true })
  })
})

test('a hub that had witnesses, and has heard of none for 48 hours, is told of until one is heard of', async () => {
  await sendStatement(lab.hub, witness)
  await audit()
  expect(await warnings()).not.toContain('no witness')
  lab.hub.clock.advance(49 * 3_600_000)
  await grant(lab.hub, alice.aid, 1)
  await audit()
  expect(await warnings()).toMatch(/no witness has watched the credits of http\S+ for more than 48 hours/)
  await sendStatement(lab.hub, witness)
  await audit()
  expect(await warnings()).not.toContain('no witness')
})

describe('svc verify --attestation', () => {
  const check = async (attestation: string, ...more: string[]) => {
    const args = ['verify', '--attestation', attestation, '--hub', lab.hub.url, ...more]
    const { code, out, err } = await runIn(join(lab.folder, 'nobody'), args)
    return { code, err, ...(out === '' ? {} : (JSON.parse(out) as Record<string, unknown>)) }
  }

  test('compares the statement of a witness with what the hub shows', async () => {
    await sendStatement(lab.hub, witness)
    const { attestation } = statementAt(lab.hub, witness)
    const { seq } = lab.hub.running.hub.supply.head
    expect(await check(attestation)).toMatchObject({
      code: 0,
      verdict: 'valid',
      witness: witness.aid,
      seq,
      says: expect.stringContaining('the hub shows the same one now'),
    })
  })

  test('says so where the hub shows another record, or none', async () => {
    const other = statementAt(lab.hub, witness, { headId: contentId(Uint8Array.of(5)) })
    expect(await check(other.attestation)).toMatchObject({
      code: 1,
      verdict: 'contradicted',
      shown_id: expect.stringMatching(/^bafk/),
    })
    const later = statementAt(lab.hub, witness, { seq: 999 })
    expect(await check(later.attestation)).toMatchObject({ code: 1, verdict: 'contradicted' })
  })

  test('believes no other signature, and takes a key history that the hub does not show', async () => {
    const forged = statementAt(lab.hub, witness, {}, new TestAgent(lab.hub).seed)
    expect(await check(forged.attestation)).toMatchObject({ code: 1, verdict: 'invalid' })
    const stranger = new TestAgent(lab.hub)
    const { attestation, kel } = statementAt(lab.hub, stranger)
    const unknown = await check(attestation)
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('shows no key history of')])
    expect(await check(attestation, '--kel', kel)).toMatchObject({ code: 0, verdict: 'valid' })
    const elsewhere = statementAt(lab.hub, witness, { chainDid: `did:svc:${stranger.aid}` })
    expect(await check(elsewhere.attestation)).toMatchObject({ code: 1, verdict: 'invalid' })
  })

  test('needs a statement and a hub', async () => {
    const { code, err } = await check('AAAA')
    expect([code, err]).toEqual([2, expect.stringContaining('not a statement of a witness')])
    const { attestation } = statementAt(lab.hub, witness)
    const alone = await runIn(join(lab.folder, 'nobody'), ['verify', '--attestation', attestation])
    expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('needs it: --hub URL')])
  })
})
