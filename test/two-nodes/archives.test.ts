/** Identities in archives: what a restored node is and does, and that no identity is live twice. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadArchive } from '../../daemon/archive/load.ts'
import { backup, exportNode, undoExport } from '../../daemon/archive/save.ts'
import { acceptCopy } from '../../daemon/chain/accept.ts'
import { importChain } from '../../daemon/chain/import.ts'
import type { Node } from '../../daemon/node.ts'
import { systemRandom } from '../../daemon/platform/random.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { delegated, finished, inboxIds, type Lab, never, openPair, texts, thread, until } from './world.ts'

const OUTSIDE = { now: Date.now, random: systemRandom }
const passphrase = 'correct horse battery'
const cost = { n: 2, r: 1, p: 1 }
let lab: Lab
let alice: Node
let bob: Node
let ended: string

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  ended = await delegated(alice, bob, 'before the archive')
  await finished(alice, bob, ended)
})
afterAll(() => lab.close())

const dirOf = (name: string) => join(lab.folder, name)
const saving = (name: string, file: string) => ({
  dir: dirOf(name),
  path: dirOf(file),
  passphrase,
  now: Date.now,
  random: systemRandom,
  cost,
})
const loading = (file: string, name: string, kind: 'backup' | 'export') =>
  loadArchive({ path: dirOf(file), dir: dirOf(name), passphrase, kind })
const status = (node: Node) => node.handlers.status(undefined, never)
const settled = (node: Node) =>
  until('settled', async () =>
    (await status(node)).warnings.every(warning => !warning.includes('restored from')),
  )

test('a backup of a running node makes a node that goes on with its history, its files and its correspondents', async () => {
  const file = dirOf('attached.txt')
  writeFileSync(file, 'an attachment')
  const open = await alice.handlers.delegate({ to: bob.aid, task: 'still open', attach: [file] }, never)
  await until('it arrives', async () => (await inboxIds(bob)).includes(open.interaction_id))
  const saved = await backup(saving('alice', 'monday'))
  expect(saved).toMatchObject({ aid: alice.aid, files: 1 })
  expect(readdirSync(lab.folder).filter(name => name.startsWith('.') || name.startsWith('monday.'))).toEqual(
    [],
  )
  const [length] = alice.ctx.chain.position
  await alice.stop()
  rmSync(dirOf('alice'), { recursive: true })

  expect(await loading('monday', 'alice', 'backup')).toMatchObject({ aid: alice.aid, records: length })
  const restored = await lab.start('alice')
  await settled(restored)
  expect(restored.ctx.chain.position[0]).toBe(length)
  const lines = () =>
    readFileSync(join(dirOf('alice'), 'evidence.ael.jsonl'), 'utf8')
      .trim()
      .split('\n').length
  await until('the chain file is whole again', () => lines() === length)
  expect(await restored.handlers.verify({ interaction_id: ended }, never)).toMatchObject({
    counter_signed: true,
  })
  const out = dirOf('pulled')
  await restored.handlers.pull({ interaction_id: open.interaction_id, out }, never)
  expect(readFileSync(join(out, 'attached.txt'), 'utf8')).toBe('an attachment')
  await bob.handlers.approve({ interaction_id: open.interaction_id }, never).catch(() => undefined)
  await bob.handlers.message({ interaction_id: open.interaction_id, text: 'after the restore' }, never)
  await until('the answer is there', async () =>
    (await texts(restored, open.interaction_id)).includes('after the restore'),
  )
  await finished(restored, bob, open.interaction_id)
  alice = restored
})

test('a restored node signs nothing before its hub was asked, and whoever restores the same again is an old copy', async () => {
  await backup(saving('alice', 'tuesday'))
  await alice.stop()
  rmSync(dirOf('alice'), { recursive: true })
  await loading('tuesday', 'alice', 'backup')
  await loading('tuesday', 'twin', 'backup')
  await lab.line.down()
  const first = await lab.start('alice')
  const refused = first.handlers.delegate({ to: bob.aid, task: 'x' }, never)
  await expect(refused).rejects.toMatchObject({
    code: 'old_copy',
    message: expect.stringMatching(/^this directory was restored from an archive of \d/),
  })
  expect((await status(first)).warnings).toContainEqual(
    expect.stringMatching(/nothing is signed until the hub was asked/),
  )
  expect(await first.handlers.results({}, never)).toHaveProperty('items')
  await lab.line.up()
  await settled(first)
  await delegated(first, bob, 'once it was asked')
  await until('the newer set is at the hub', () => first.ctx.keys.isConfirmed)
  const second = await lab.start('twin')
  await until('it is known to be old', async () => (await status(second)).old_copy)
  await expect(second.handlers.delegate({ to: bob.aid, task: 'x' }, never)).rejects.toMatchObject({
    code: 'old_copy',
  })
  await second.stop()
  alice = first
})

test('a restored node that its waiting mail shows to be an old copy confirms none of it: the newer copy gets it', async () => {
  const name = 'iris'
  const iris = await lab.member(name)
  await bob.handlers.contactAdd({ aid: iris.aid, petname: name }, never)
  await iris.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await delegated(bob, iris, 'before the archive')
  await backup(saving(name, 'wednesday'))
  const { interaction_id: known } = await iris.handlers.delegate({ to: bob.aid, task: 'after it' }, never)
  await until('it arrives', async () => (await inboxIds(bob)).includes(known))
  await finished(iris, bob, known)
  await iris.stop()
  const newer = dirOf(`${name}-newer`)
  renameSync(dirOf(name), newer)
  // another machine, which has seen nothing of the newer copy
  rmSync(join(lab.folder, `run-${name}`), { recursive: true })
  await loading('wednesday', name, 'backup')
  // the head that bob holds goes back behind the task
  lab.hub.clock.advance(24 * 3_600_000)
  const { interaction_id: waiting } = await bob.handlers.delegate({ to: iris.aid, task: 'waits' }, never)
  await until('task and head lie at the hub', () => {
    const out = bob.ctx.store.all(
      `SELECT DISTINCT m.kind FROM outbox AS o JOIN messages AS m ON m.key = o.message
       WHERE o.peer = ? AND o.state = 'at_hub' AND m.kind IN (?, ?)`,
      iris.aid,
      kinds.delegate,
      kinds.heldHead,
    )
    return out.length === 2
  })
  const old = await lab.start(name)
  await until('it is known to be old', async () => (await status(old)).old_copy)
  expect(await inboxIds(old)).not.toContain(waiting)
  await old.stop()
  rmSync(dirOf(name), { recursive: true })
  renameSync(newer, dirOf(name))
  const right = await lab.start(name)
  await until('it gets the task', async () => (await inboxIds(right)).includes(waiting))
})

test('a restored node asks what its correspondents hold: no number is used twice, and lost tasks are named on both sides', async () => {
  const name = 'rita'
  const rita = await lab.member(name)
  await bob.handlers.contactAdd({ aid: rita.aid, petname: name }, never)
  await rita.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  const open = await delegated(rita, bob, 'goes on')
  const say = (node: Node, text: string) => node.handlers.message({ interaction_id: open, text }, never)
  await say(rita, 'before it')
  await until('it arrives', async () => (await texts(bob, open)).includes('before it'))
  // with it comes access that lets her write after the restore
  await say(bob, 'an answer')
  await until('it arrives', async () => (await texts(rita, open)).includes('an answer'))
  await backup(saving(name, 'thursday'))
  await say(rita, 'lost in the restore')
  await until('it arrives', async () => (await texts(bob, open)).includes('lost in the restore'))
  const gone = await delegated(bob, rita, 'came after the backup')
  // what its recipient has not confirmed would come from the hub once more
  await until('bob knows that it came', async () => {
    bob.ctx.store.run("UPDATE outbox SET next_at = 0 WHERE state = 'at_hub'")
    bob.wake()
    return (await thread(bob, gone)).state === 'delivered'
  })
  await rita.stop()
  rmSync(dirOf(name), { recursive: true })
  rmSync(join(lab.folder, `run-${name}`), { recursive: true })
  await loading('thursday', name, 'backup')
  await bob.stop()
  const restored = await lab.start(name)
  await settled(restored)
  await say(restored, 'after the restore')
  expect((await status(restored)).restored).toMatchObject({ waiting: expect.any(Number) })
  expect((await status(restored)).warnings.join()).toMatch(/goes on from an older state, and asked bob/)
  const newest = (await restored.handlers.thread({ interaction_id: open }, never)).turns.at(-1)
  expect(newest?.delivery).toMatchObject({
    state: 'queued',
    reason: expect.stringContaining('restored from a backup'),
  })
  bob = await lab.start('bob')
  await until('it arrives', async () => (await texts(bob, open)).includes('after the restore'))
  expect((await texts(bob, open)).slice(-2)).toEqual(['lost in the restore', 'after the restore'])
  await until('the lost task is named', async () => (await status(restored)).restored?.lost.length === 1)
  expect((await status(restored)).restored).toMatchObject({
    waiting: 0,
    lost: [{ interaction_id: gone, peer_name: 'bob' }],
  })
  await until('bob knows it', async () => {
    const { lost_by_peer_at, reason } = await bob.handlers.thread({ interaction_id: gone }, never)
    return lost_by_peer_at !== undefined && reason?.includes('delegate it anew')
  })
  await finished(restored, bob, open)
})

test('an export closes the directory that it is made from, and the identity goes on where it is imported', async () => {
  await expect(exportNode(saving('alice', 'moving'))).rejects.toThrow(/already runs on/)
  await alice.stop()
  await exportNode(saving('alice', 'moving'))
  const closed =
    /was exported at \S+ to \S+ and lives where that is imported; only if it never was: svc id export --undo$/
  await expect(lab.start('alice')).rejects.toThrow(closed)
  await expect(exportNode(saving('alice', 'again'))).rejects.toThrow(closed)
  await expect(backup(saving('alice', 'again'))).rejects.toThrow(closed)
  await expect(importChain(dirOf('alice'), OUTSIDE)).rejects.toThrow(closed)
  expect(() => acceptCopy(dirOf('alice'), { SVC_RUNTIME_DIR: dirOf('run-alice') }, OUTSIDE)).toThrow(closed)
  expect(existsSync(dirOf('again'))).toBe(false)
  await expect(loading('moving', 'new', 'backup')).rejects.toThrow(
    /is an export, .* svc id import \S+moving$/,
  )
  await loading('moving', 'new', 'export')
  const moved = await lab.start('new')
  await settled(moved)
  expect(moved.aid).toBe(alice.aid)
  await delegated(moved, bob, 'from the new machine')
  await moved.stop()
})

test('an export that was never imported is taken back, and a directory in use takes no archive', async () => {
  const carol = await lab.member('carol')
  await carol.stop()
  expect(() => undoExport(dirOf('carol'))).toThrow(/was not exported/)
  await exportNode(saving('carol', 'carol.svc'))
  undoExport(dirOf('carol'))
  const back = await lab.start('carol')
  expect(back.aid).toBe(carol.aid)
  await back.stop()
  await expect(loading('carol.svc', 'carol', 'export')).rejects.toThrow(/^\S+ holds .*identity\.kel/)
  await expect(exportNode(saving('carol', 'carol.svc'))).rejects.toThrow(/already exists/)
  await expect(backup({ ...saving('carol', 'x'), dir: dirOf('nobody') })).rejects.toThrow(
    /there is no identity in/,
  )
})
