// project: programs

/**
 * A witness of a hub over the program (objects: supply): it follows the chain, signs its head once it is kept, and gives the
 * records back to a hub that was restored from before them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { WitnessStatement } from '../../protocol/proof/witness.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { booksAgree } from '../store/books.ts'
import { openReader } from '../store/sqlite/database.ts'
import { readSnapshot } from '../store/sqlite/ledger-reads.ts'
import { callRoute, TestAgent } from '../testing/hub.ts'
import { ask, balanceOf, payment, redemption } from '../testing/payments.ts'
import { type HubChild, runHub, startHubChild } from '../testing/process.ts'

let root: string
let directory: string
let watching: string
let witness: string
let hub: HubChild
let alice: TestAgent
let bob: TestAgent
const children: HubChild[] = []

async function start(where: string): Promise<HubChild> {
  const child = await startHubChild(where)
  children.push(child)
  return child
}

/** The hub in the directory of the witness. */
let keeper: HubChild | undefined
async function keeping(): Promise<HubChild> {
  keeper ??= await start(watching)
  return keeper
}

async function stop(child: HubChild): Promise<void> {
  child.kill('SIGTERM')
  await child.exited
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'svc-hub-witness-'))
  ;[directory, watching] = [join(root, 'hub'), join(root, 'witness')]
  witness = (await json('init', '--data-dir', watching))['aid'] as string
  hub = await start(directory)
  ;[alice, bob] = [await enrolled(), await enrolled()]
  await json('witness', 'add', witness, '--data-dir', directory)
})
beforeEach(async () => {
  await grant(alice, 10)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map(child => child.exited))
  rmSync(root, { recursive: true, force: true })
})

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runHub(args)
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>
}

const grant = (agent: TestAgent, amount: number): Promise<unknown> =>
  json('grant', agent.aid, String(amount), '--reason', 'a test', '--data-dir', directory)
const look = (env: Record<string, string> = {}) =>
  runHub(['witness', 'run', hub.url, '--once', '--data-dir', watching], { env })

async function enrolled(): Promise<TestAgent> {
  const agent = new TestAgent(hub)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  return agent
}

type Shown = { attestations: { attestation: string; seq: number }[]; health: { unwitnessed_records: number } }
const shown = async (): Promise<Shown> => (await callRoute(hub, 'witnesses', undefined)).json as never
const newest = async () => {
  const [first] = (await shown()).attestations
  return WitnessStatement.decode(fromBase64url(first?.attestation ?? '')).body
}
const headSeq = async (): Promise<number> =>
  (await callRoute(hub, 'issuanceHead', undefined)).json['seq'] as number

function expectBooksToAgree(): void {
  const reader = openReader(join(directory, 'hub.db'))
  expect(booksAgree(readSnapshot(reader))).toBe(true)
  reader.close()
}

test('a witness signs the head once it has followed every link to it', async () => {
  const first = await look()
  expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { hub: hub.aid, status: 'stored' }])
  expect((await newest()).seq).toBe(await headSeq())
  await grant(bob, 5)
  expect((await shown()).health.unwitnessed_records).toBe(1)
  expect((await look()).code).toBe(0)
  expect([(await newest()).seq, (await newest()).witness]).toEqual([await headSeq(), witness])
  expect((await shown()).health.unwitnessed_records).toBe(0)
})

test('what it signs is kept before it is told: a death in between loses and changes nothing', async () => {
  await look()
  const before = await newest()
  await grant(alice, 1)
  const killed = await look({ SVC_FAULT: 'witness.stored' })
  expect([killed.code, killed.stdout]).toEqual([null, ''])
  expect((await newest()).seq).toBe(before.seq)
  const again = await look()
  expect([again.code, JSON.parse(again.stdout)['status']]).toEqual([0, 'stored'])
  expect((await newest()).seq).toBe(before.seq + 1)
})

test('one that the operator did not name is refused, and so is a hub that names itself', async () => {
  const stranger = join(root, 'stranger')
  await json('init', '--data-dir', stranger)
  const refused = await runHub(['witness', 'run', hub.url, '--once', '--data-dir', stranger])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/names it with: svc-hub witness add A/),
  ])
  const own = await runHub(['witness', 'run', hub.url, '--once', '--data-dir', directory])
  expect([own.code, own.stderr]).toEqual([1, expect.stringMatching(/cannot be its own witness/)])
})

test('a witness that lost its file keeps to what it signed before', async () => {
  await look()
  const { seq } = await newest()
  for (const name of ['witness.db', 'witness.db-wal', 'witness.db-shm'])
    rmSync(join(watching, name), { force: true })
  const again = await look()
  expect([again.code, JSON.parse(again.stdout).seq]).toEqual([0, seq])
})

test('a restored hub extends no chain of which a witness has seen more, and takes the records back', async () => {
  const backup = join(root, 'backup')
  await json('backup', backup, '--data-dir', directory)
  await grant(bob, 30)
  await ask(hub, 'x402Settle', payment(bob, alice, 25).request)
  const { balance } = await balanceOf(alice)
  const taken = redemption(alice, balance, 'all of it')
  expect((await ask(hub, 'x402Redeem', taken.request)).json['success']).toBe(true)
  await look()
  const seen = await headSeq()
  await stop(hub)

  directory = join(root, 'restored')
  await json('restore', backup, '--data-dir', directory)
  hub = await start(directory)
  for (const agent of [alice, bob]) agent.target = hub
  expect(await headSeq()).toBeLessThan(seen)
  await expect(grant(alice, 1)).rejects.toThrow(/stands still since the restore/)
  const looked = await look()
  expect([looked.code, looked.stderr]).toEqual([1, expect.stringMatching(/nothing is signed/)])
  await expect(grant(alice, 1)).rejects.toThrow(/has seen record/)
  await stop(hub)

  const { url } = await keeping()
  const returned = await json('restore', '--from-witness', url, '--data-dir', directory)
  expect(returned).toMatchObject({ records: 2, restored: 25 })
  const nothing = await runHub(['restore', '--from-witness', url, '--data-dir', directory])
  expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringMatching(/nothing to take back/)])
  hub = await start(directory)
  for (const agent of [alice, bob]) agent.target = hub
  // the record for what was short stands after those that came back
  expect(await headSeq()).toBe(seen + 1)
  expect([(await balanceOf(alice)).balance, (await balanceOf(bob)).balance]).toEqual([0, 135])
  expectBooksToAgree()
  await expect(grant(alice, 1)).rejects.toThrow(/stands still since the restore/)
  const caughtUp = await look()
  expect([caughtUp.code, JSON.parse(caughtUp.stdout)['status']]).toEqual([0, 'stored'])
  await grant(alice, 1)
  expectBooksToAgree()
})

test('a hub that shows another history gets no signature, and what it showed is kept', async () => {
  await look()
  const backup = join(root, 'fork')
  await json('backup', backup, '--data-dir', directory)
  await grant(alice, 1)
  await look()
  const signed = await newest()
  await stop(hub)
  directory = join(root, 'forked')
  await json('restore', backup, '--data-dir', directory)
  await json('witness', 'rm', witness, '--data-dir', directory)
  await grant(alice, 2)
  await json('witness', 'add', witness, '--data-dir', directory)
  hub = await start(directory)
  const looked = await look()
  const why = /nothing is signed about hub.*record [0-9]+ is another one.*a second history began/
  expect([looked.code, looked.stderr]).toEqual([1, expect.stringMatching(why)])
  expect((await shown()).attestations).toEqual([])
  const reader = openReader(join(watching, 'witness.db'))
  const [conflict] = reader.all<{ why: string; record: Uint8Array }>(
    'SELECT why, record FROM watched_conflict ORDER BY seen_ms DESC',
  )
  const chain = reader.one<{ statement: Uint8Array }>('SELECT statement FROM watched_chain')
  reader.close()
  expect(conflict?.why).toMatch(/is another one/)
  expect(WitnessStatement.decode(chain?.statement ?? new Uint8Array()).body).toEqual(signed)

  // nothing more is signed on top of what was contradicted, and the operator learns what to do
  await expect(grant(alice, 1)).rejects.toThrow(/has signed another record .* than the one here/)
  expect((await json('witness', 'ls', '--data-dir', directory))['note']).toMatch(/another record/)
  await stop(hub)
  const { url } = await keeping()
  const back = await runHub(['restore', '--from-witness', url, '--data-dir', directory])
  expect([back.code, back.stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`keeps another record ${signed.seq} than the one here.*restore the newest backup`),
    ),
  ])
  const mended = join(root, 'mended')
  await json('restore', backup, '--data-dir', mended)
  const returned = await json('restore', '--from-witness', url, '--data-dir', mended)
  expect(returned).toMatchObject({ records: 1, head_seq: signed.seq })
})
