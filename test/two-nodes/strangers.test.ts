/** What strangers, tasks and a long backlog may not do to a node. */

import { readdirSync, readFileSync, symlinkSync, truncateSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import type { Interaction } from '../../daemon/store/threads.ts'
import { taskParts } from '../../daemon/tasks/open.ts'
import { toBase64, toBase64url, toHex } from '../../protocol/encoding/bytes.ts'
import { delegated, inboxIds, type Lab, never, openLab, stateOf, texts, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node

const ANSWERER = `
import { readFileSync } from 'node:fs'
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  const n = (prompt.match(/line (\\d+)/) ?? [])[1]
  console.log(n === undefined ? 'answered' : readFileSync(process.argv[2], 'utf8').split('\\n')[Number(n)])
})
`

beforeAll(async () => {
  lab = await openLab()
  writeFileSync(join(lab.folder, 'answer.mjs'), ANSWERER)
  alice = await lab.member('alice')
  bob = await lab.member('bob', {
    SVC_EXEC_COMMAND: `${process.execPath} ${join(lab.folder, 'answer.mjs')} ${join(lab.folder, 'lines')}`,
  })
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
})
afterAll(() => lab.close())

describe('strangers', () => {
  test('have a few tasks under way at most, all together, and their calls are not answered without end', async () => {
    const carol = await lab.member('carol')
    await bob.handlers.hubRegister({ url: lab.line.url, guest_messages: 2 }, never)
    const first = await delegated(carol, bob, 'one')
    expect(taskParts(bob.ctx).admissions.admit(carol.aid, 0)).toBe('pending')
    const other = await delegated(carol, bob, 'two')
    expect(taskParts(bob.ctx).admissions.admit(carol.aid, 0)).toBe('refused')
    expect(taskParts(bob.ctx).admissions.mayAdd(bob.ctx.threads.findById(first) as Interaction, 0)).toBe(
      false,
    )
    await bob.handlers.approve({ interaction_id: first }, never)
    expect(taskParts(bob.ctx).admissions.admit(carol.aid, 0)).toBe('refused')
    await bob.handlers.decline({ interaction_id: other }, never)
    expect(taskParts(bob.ctx).admissions.admit(carol.aid, 0)).toBe('pending')
    const dan = await lab.member('dan')
    // From an earlier time: calls bring none, and without the hub's limit of strangers would be met first.
    dan.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(dan.aid, true))
    dan.ctx.peers.learn(bob.ctx.identity.log, bob.ctx.keys.set)
    const called = async (capability: string, became: string) => {
      const { interaction_id } = await dan.handlers.delegate({ to: bob.aid, capability }, never)
      await until(`the call has ${became}`, async () => {
        dan.ctx.store.run('UPDATE outbox SET next_at = 0')
        dan.wake()
        return (await stateOf(dan, interaction_id)) === became
      })
    }
    await called('cap.one', 'ended')
    await called('cap.two', 'ended')
    await called('cap.three', 'failed')
    expect(bob.ctx.chain.read({ eventType: 'svc.capability.effect' })).toHaveLength(2)
    await bob.handlers.hubRegister({ url: lab.line.url, guest_messages: 5 }, never)
  })
})

/** Names of files that came into being in the folder of attachments while `work` ran, and those that are there after it. */
async function filesDuring(
  node: Node,
  work: () => Promise<void>,
): Promise<{ seen: string[]; left: string[] }> {
  const { folder } = node.ctx.attachments
  const seen = new Set<string>()
  const watcher = watch(folder, (_event, name) => seen.add(String(name)))
  await work()
  // What the system has to tell of earlier files comes before it tells of this one.
  writeFileSync(join(folder, 'incoming-last'), '')
  await until('all was seen', () => seen.delete('incoming-last'))
  watcher.close()
  return { seen: [...seen], left: readdirSync(folder).filter(name => name !== 'incoming-last') }
}

/** Files of a node that hold these words, wherever they lie. */
const filesWith = (name: string, words: string) =>
  readdirSync(join(lab.folder, name), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => readFileSync(path).includes(words))

describe('files of a stranger', () => {
  const words = 'eleven hidden herons'
  const attach = () => {
    const path = join(lab.folder, 'herons.txt')
    writeFileSync(path, `${words}\n`.repeat(5000))
    return [path]
  }

  test('that policy refuses are never written', async () => {
    const fay = await lab.member('fay')
    // Else the file would follow in a message of its own.
    await fay.ctx.carriers.find(bob.aid)
    await bob.handlers.accept({ on: false }, never)
    const files = await filesDuring(bob, async () => {
      const { interaction_id } = await fay.handlers.delegate(
        { to: bob.aid, task: words, attach: attach() },
        never,
      )
      await until('it is refused', async () => {
        fay.ctx.store.run('UPDATE outbox SET next_at = 0')
        fay.wake()
        return (await stateOf(fay, interaction_id)) === 'failed'
      })
    })
    await bob.handlers.accept({ on: true }, never)
    expect(files.seen).toEqual([])
    expect(filesWith('bob', words)).toEqual([])
  })

  test('wait with the task, and are gone as soon as it is declined', async () => {
    const gus = await lab.member('gus')
    await gus.ctx.carriers.find(bob.aid)
    const { interaction_id } = await gus.handlers.delegate(
      { to: bob.aid, task: 'look', attach: attach() },
      never,
    )
    await until('it arrives', async () => (await inboxIds(bob)).includes(interaction_id))
    expect(filesWith('bob', words)).toHaveLength(1)
    await bob.handlers.decline({ interaction_id }, never)
    expect(filesWith('bob', words)).toEqual([])
  })
})

describe('a waiting listing', () => {
  test('ends with something new in it, not with an event that changes nothing', async () => {
    const eve = await lab.member('eve')
    const waiting = eve.handlers.inbox({ wait_s: 20 }, never)
    eve.ctx.events.emit('message', { interaction_id: 'elsewhere' })
    const { interaction_id } = await alice.handlers.delegate({ to: eve.aid, task: 'at last' }, never)
    expect((await waiting).items.map(item => item.interaction_id)).toEqual([interaction_id])
  })
})

describe('files of the node itself', () => {
  test('never leave, by no path and no link; other files and received attachments do', async () => {
    const plain = join(lab.folder, 'plain.txt')
    writeFileSync(plain, 'plain')
    const id = await delegated(alice, bob, 'keep this')
    const link = join(lab.folder, 'harmless.txt')
    symlinkSync(join(lab.folder, 'alice', 'identity.kel'), link)
    const refused = [
      join(lab.folder, 'alice', 'identity.kel'),
      join(lab.folder, 'alice', 'interactions', 'store.db'),
      join(lab.folder, 'bob', '..', 'alice', 'control_token.txt'),
      link,
      '/proc/self/environ',
    ]
    for (const path of refused) {
      const attempts = [
        alice.handlers.message({ interaction_id: id, text: 'x', attach: [path] }, never),
        alice.handlers.message({ interaction_id: id, file: path }, never),
        alice.handlers.delegate({ to: bob.aid, task: 'x', attach: [path] }, never),
      ]
      for (const attempt of attempts)
        await expect(attempt).rejects.toMatchObject({
          code: 'file_unreadable',
          message: expect.stringContaining('belongs to svc itself'),
        })
    }
    await alice.handlers.message({ interaction_id: id, text: 'with a file', attach: [plain] }, never)
    const kept = alice.ctx.attachments.find(
      (alice.ctx.store.get<{ cid: string }>('SELECT cid FROM message_attachments') as { cid: string }).cid,
    ) as string
    await alice.handlers.message({ interaction_id: id, text: 'and again', attach: [kept] }, never)
    await until('both arrive', async () => (await texts(bob, id)).includes('and again'))
  })
})

describe('evidence', () => {
  test('that could not be written to its file goes there with the next round of maintenance', async () => {
    const path = join(lab.folder, 'bob', 'evidence.ael.jsonl')
    bob.ctx.chain.append('svc.test', { n: 1 })
    bob.ctx.chain.drain()
    const whole = readFileSync(path)
    const last = whole.lastIndexOf('\n', whole.length - 2) + 1
    // As a full disk leaves it: stored, not in the file.
    truncateSync(path, last)
    bob.ctx.store.run('UPDATE chain SET drained = 0 WHERE seq = (SELECT max(seq) FROM chain)')
    bob.wake()
    await until('it is there again', () => readFileSync(path).equals(whole))
  })
})

describe('auto-reply', () => {
  test('an answer that holds a seed of this node, in any text form, never leaves', async () => {
    const { identity, keys } = bob.ctx
    const lines = [
      toHex(identity.nextSeed as Uint8Array),
      toBase64(identity.seed),
      toBase64url(keys.mailboxSeed),
      toHex(keys.encryptionSeeds[0] as Uint8Array),
    ]
    writeFileSync(join(lab.folder, 'lines'), lines.join('\n'))
    const refused = new Set<unknown>()
    const stop = bob.ctx.events.listen(event => {
      if (event.type === 'autoreply' && event.data['event'] === 'refused')
        refused.add(event.data['interaction_id'])
    })
    await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
    const ids: string[] = []
    for (const n of lines.keys()) ids.push(await delegated(alice, bob, `line ${n}`))
    await until('all refused', () => ids.every(id => refused.has(id)))
    stop()
    for (const [n, id] of ids.entries()) expect((await texts(bob, id)).join()).not.toContain(lines[n])
    await bob.handlers.autoReplyOff({}, never)
    for (const id of ids) await bob.handlers.decline({ interaction_id: id }, never)
  })

  test('finds what waits behind any number of threads that do not', async () => {
    const { store, threads } = bob.ctx
    const add = (peer: string, n: number, answered: boolean) => {
      const { key } = threads.create({
        id: `backlog-${peer.slice(1, 5)}-${n}`,
        delegator: peer,
        peer,
        side: 'received',
        state: 'open',
        way: 'sealed',
        capability: null,
        preview: '',
        commitment: null,
        requestCid: '',
      })
      for (const direction of answered ? ['in', 'out'] : ['in'])
        store.run(
          `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest, text)
           VALUES (?, ?, ?, ?, ?, 0, 1, 0, x'', x'', 'old')`,
          key,
          direction,
          peer,
          bob.aid,
          bob.ctx.random(16),
        )
      store.run('UPDATE interactions SET updated_at = 1 WHERE key = ?', key)
    }
    store.transaction(() => {
      for (let n = 0; n < 150; n++) {
        add(alice.aid, n, true)
        add(`Astranger${n}`, n, false)
      }
    })
    await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
    const id = await delegated(alice, bob, 'behind them all')
    await until('answered', async () => (await texts(alice, id)).includes('answered'))
    await bob.handlers.autoReplyOff({}, never)
  })
})
