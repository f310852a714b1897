/** Visitors of a hub that reads its mail, and a node whose auto-reply answers them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { choresOf } from '../../daemon/maintenance.ts'
import type { Node } from '../../daemon/node.ts'
import { GUEST_TASKS_MAX } from '../../daemon/tasks/guests.ts'
import { Wire1Client } from '../../hub/testing/wire1.ts'
import { inboxIds, type Lab, never, openLab, thread, until } from './world.ts'

let lab: Lab
let client: Wire1Client
let bob: Node
const ANSWERER = `
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  console.log('answer to ' + (prompt.match(/ask: \\w+/g) ?? []).at(-1))
})
`

beforeAll(async () => {
  lab = await openLab({}, { wires: [1] })
  lab.hub.running.hub.guests.isOpen = true
  client = new Wire1Client(lab.hub)
  const script = join(lab.folder, 'answer.mjs')
  writeFileSync(script, ANSWERER)
  bob = await lab.member('bob', { SVC_EXEC_COMMAND: `${process.execPath} ${script}` })
  await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
})
afterAll(() => lab.close())

type Word = { body: string; end: string }
const start = async () => String((await client.post('/guest/start', { aid: bob.aid })).json['session'])
const say = (session: string, body: string) => client.post('/guest/send', { session, body, attachments: [] })
const isWaiting = (id: string) =>
  bob.ctx.store.get(
    'SELECT 1 FROM outbox o JOIN interactions i ON i.key = o.interaction WHERE i.id = ?',
    id,
  ) !== undefined
async function heard(session: string, what: string, holds: (words: Word[]) => boolean): Promise<Word[]> {
  const words: Word[] = []
  await until(what, async () => {
    words.push(...((await client.post('/guest/poll', { session })).json['messages'] as Word[]))
    return holds(words)
  })
  return words
}

test('a visitor is a stranger, whose task waits for a person, until guests are switched on', async () => {
  const session = await start()
  await say(session, 'ask: nothing')
  await until('it waits', async () => {
    const { items } = await bob.handlers.inbox({ unfinished: true }, never)
    return items.some(({ state }) => state === 'pending')
  })
  await client.post('/guest/end', { session })
  // all visitors are one agent, their hub, and each of them is heard
  for (let visitor = 0; visitor < 8; visitor++) await say(await start(), 'ask: waiting')
  await until('they wait', async () => {
    const { items } = await bob.handlers.inbox({ unfinished: true, limit: 50 }, never)
    return items.filter(({ state }) => state === 'pending').length >= 8
  })
  const { says } = await bob.handlers.autoReplySet({ guests: true }, never)
  expect(says).toContain('visitors of the hub')
})

test('is answered then, without approval, in words that go to and fro, and ends', async () => {
  const session = await start()
  await say(session, 'ask: one')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: one'))
  await say(session, 'ask: two')
  await heard(session, 'the second', words => words.some(({ body }) => body === 'answer to ask: two'))
  const [id = ''] = await inboxIds(bob)
  expect((await thread(bob, id)).sealed).toBe(false)
  await client.post('/guest/end', { session })
  await until('it has ended there too', async () => (await thread(bob, id)).state === 'ended')
})

test('signs nothing, so nothing of an ended task waits', async () => {
  const session = await start()
  await say(session, 'ask: last')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: last'))
  const [id = ''] = await inboxIds(bob)
  await client.post('/guest/end', { session })
  await until('it has ended', async () => (await thread(bob, id)).state === 'ended')
  const { waiting_for, receipt, reason } = await thread(bob, id)
  expect({ waiting_for, receipt }).toEqual({ waiting_for: undefined, receipt: undefined })
  expect(reason).toBe('no receipt: a visitor of a hub has no key to sign one with')
  await until('its last word is told', () => !isWaiting(id))
})

test('is over once its hub, which crashed, does not know the visit any more', async () => {
  const session = await start()
  await say(session, 'ask: crash')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: crash'))
  const [id = ''] = await inboxIds(bob)
  // what a crash leaves of visits
  await lab.hub.running.hub.context.memory.guests.endIdle(Number.POSITIVE_INFINITY)
  await bob.handlers.message({ interaction_id: id, text: 'are you there' }, never)
  await until('it is over', async () => (await thread(bob, id)).state === 'ended')
  const { reason, waiting_for } = await thread(bob, id)
  expect(reason).toContain('the hub does not know this visit any more')
  expect(waiting_for).toBeUndefined()
  expect(isWaiting(id)).toBe(false)
})

test.each([
  ['does not know the visit any more is over', true, 'ended'],
  ['knows the visit is asked for its end', false, 'end_proposed'],
])('a day after the last word, one whose hub %s', async (_, hasCrashed, state) => {
  const session = await start()
  await say(session, 'ask: silence')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: silence'))
  const [id = ''] = await inboxIds(bob)
  if (hasCrashed) await lab.hub.running.hub.context.memory.guests.endIdle(Number.POSITIVE_INFINITY)
  const passed = (ms: number) =>
    bob.ctx.store.run('UPDATE interactions SET updated_at = updated_at - ? WHERE id = ?', ms, id)
  passed(23 * 3_600_000)
  choresOf(bob.ctx).do()
  expect((await thread(bob, id)).state).toBe('open')
  passed(3_600_000)
  choresOf(bob.ctx).do()
  await until('it is so', async () => (await thread(bob, id)).state === state)
  await until('nothing waits', () => !isWaiting(id))
  if (!hasCrashed) await heard(session, 'the end', words => words.some(({ end }) => end === 'requested'))
})

test('is answered also after the hub got another key', async () => {
  const session = await start()
  await say(session, 'ask: before')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: before'))
  await lab.hub.running.order({ command: 'rotate' })
  expect((await say(session, 'ask: after')).status).toBe(200)
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: after'))
})

test('is answered also behind as much mail of strangers as one poll has', async () => {
  const payload = Buffer.alloc(5 * 1024 * 1024).toString('base64')
  const junk = { to_aid: bob.aid, from_aid: 'x', kind: 'message', interaction_id: 'i', payload }
  await Promise.all(
    Array.from({ length: 9 }, async () => expect((await client.post('/relay/send', junk)).status).toBe(200)),
  )
  const session = await start()
  await say(session, 'ask: behind')
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: behind'))
})

test('may bring 20 MiB of files', async () => {
  const session = await start()
  const data = Buffer.alloc(19 * 1024 * 1024, 1).toString('base64')
  const attachments = [{ name: 'large.bin', mime: 'application/octet-stream', data }]
  const { status } = await client.post('/guest/send', { session, body: 'ask: large', attachments })
  expect(status).toBe(200)
  await heard(session, 'the answer', words => words.some(({ body }) => body === 'answer to ask: large'))
})

test('so many begin in an hour at most', async () => {
  const { store } = bob.ctx
  const refusedBefore = (await bob.handlers.status(undefined, never)).counts.strangers_refused
  const begun = () =>
    store.get<{ n: number }>("SELECT count(*) AS n FROM interactions WHERE side = 'received'")?.n ?? 0
  while (begun() < GUEST_TASKS_MAX) {
    const left = GUEST_TASKS_MAX - begun()
    await Promise.all(Array.from({ length: Math.min(20, left) }, async () => say(await start(), 'ask: many')))
    const all = GUEST_TASKS_MAX - left + Math.min(20, left)
    await until('they came', () => begun() >= all)
  }
  await say(await start(), 'ask: toomuch')
  await until('the next one is refused', async () => {
    const { counts } = await bob.handlers.status(undefined, never)
    return counts.strangers_refused > refusedBefore
  })
})
