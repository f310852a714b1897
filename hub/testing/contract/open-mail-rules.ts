/** The contract of the store on mail that the hub can read. */
import { expect } from 'vitest'
import type { OpenOnce, OpenSend } from '../../store/open-mail-port.ts'
import { agentRow, bytes, NOW_MS, type Rule, rule, type World } from './world.ts'

const profile = { guestQuota: 5, pricing: '', address: undefined }
const limits = { messagesMax: 3, bytesMax: 1000, totalBytesMax: 1500, tasksMax: 3 }

async function openBox(world: World, aid = 'agent-open'): Promise<number> {
  const put = await world.put(agentRow(aid, { mail: 'open' }))
  if (put.outcome !== 'stored') throw new Error(put.outcome)
  await world.store.putOpenProfile({ ...profile, number: put.number })
  return put.number
}

const message = (mailbox: number, id: string, more: Partial<OpenSend> = {}): OpenSend => ({
  ...{ mailbox, id, from: 'whoever', kind: 'message', interaction: 'i', nowMs: NOW_MS, size: 100, limits },
  ...{ content: bytes(100, 1), file: undefined },
  ...more,
})

const outcomes = async ({ store }: World, items: OpenSend[]) =>
  (await Promise.all(items.map(item => store.sendOpen(item)))).map(({ outcome }) => outcome)

const waiting = async ({ store }: World, mailbox: number, limit = 100, bytesMax = 1e6) =>
  (await store.pollOpen({ mailbox, limit, bytesMax })).map(({ id }) => id)

export const openMailRules: readonly Rule[] = [
  rule('gives what was sent in its order and whole, until it is removed', async world => {
    const box = await openBox(world)
    expect(
      await outcomes(world, [message(box, 'a'), message(box, 'b', { file: 'f', content: undefined })]),
    ).toEqual(['queued', 'queued'])
    await world.reopen()
    expect(await world.store.pollOpen({ mailbox: box, limit: 10, bytesMax: 1e6 })).toEqual([
      {
        id: 'a',
        from: 'whoever',
        kind: 'message',
        interaction: 'i',
        createdMs: NOW_MS,
        size: 100,
        file: undefined,
      },
      {
        id: 'b',
        from: 'whoever',
        kind: 'message',
        interaction: 'i',
        createdMs: NOW_MS,
        size: 100,
        file: 'f',
      },
    ])
    const ids = ['b', 'a', 'c']
    expect(await world.store.openContents({ mailbox: box, ids })).toEqual(new Map([['a', bytes(100, 1)]]))
    expect(await world.store.openContents({ mailbox: box + 1, ids })).toEqual(new Map())
    expect(await world.store.openBytes()).toBe(200)
    expect(await world.store.unusedOpenFiles(['f', 'g'])).toEqual(['g'])
    expect(await world.store.ackOpen({ mailbox: box, ids: ['b', 'b', 'c'] })).toEqual({
      acked: 1,
      files: ['f'],
    })
    expect(await waiting(world, box)).toEqual(['a'])
  }),

  rule(
    'stops before the message that would pass the bytes of a page, and always gives the first',
    async world => {
      const box = await openBox(world)
      await outcomes(world, [
        message(box, 'a', { size: 400 }),
        message(box, 'b', { size: 400 }),
        message(box, 'c'),
      ])
      expect(await waiting(world, box, 100, 10)).toEqual(['a'])
      expect(await waiting(world, box, 100, 800)).toEqual(['a', 'b'])
      expect(await waiting(world, box, 1)).toEqual(['a'])
    },
  ),

  rule('removes nothing of another mailbox', async world => {
    const [one, other] = [await openBox(world), await openBox(world, 'agent-other')]
    await outcomes(world, [message(one, 'a')])
    expect(await world.store.ackOpen({ mailbox: other, ids: ['a'] })).toEqual({ acked: 0, files: [] })
    expect(await waiting(world, one)).toEqual(['a'])
  }),

  rule('queues a message once under its id', async world => {
    const box = await openBox(world)
    await outcomes(world, [message(box, 'a'), message(box, 'a')])
    expect(await waiting(world, box)).toEqual(['a'])
    expect((await world.store.openMailbox(box))?.messages).toBe(1)
  }),

  rule(
    'refuses what one mailbox, or all together, have no room for, and takes it once there is some',
    async world => {
      const [one, other] = [await openBox(world), await openBox(world, 'agent-other')]
      const large = { size: 900 }
      expect(await outcomes(world, [message(one, 'a', large), message(one, 'b', large)])).toEqual([
        'queued',
        'mailboxFull',
      ])
      expect(await outcomes(world, [message(other, 'c', large), message(other, 'd')])).toEqual([
        'hubFull',
        'queued',
      ])
      const small = ['e', 'f', 'g'].map(id => message(other, id, { size: 1 }))
      expect(await outcomes(world, small)).toEqual(['queued', 'queued', 'mailboxFull'])
      await world.store.ackOpen({ mailbox: one, ids: ['a'] })
      expect(await outcomes(world, [message(one, 'b', large)])).toEqual(['queued'])
      expect(await outcomes(world, [message(world.box, 'h')])).toEqual(['noMailbox'])
    },
  ),

  rule('counts a task once when its result is sent', async world => {
    const box = await openBox(world)
    const result = { kind: 'result', interaction: 'task', size: 1 } as const
    await outcomes(world, [
      message(box, 'a', result),
      message(box, 'b', result),
      message(box, 'c', { ...result, interaction: '' }),
    ])
    expect(await world.store.openTasks()).toBe(1)
  }),

  rule('remembers so many tasks, and counts on behind them', async world => {
    const box = await openBox(world)
    const done = async (id: string, interaction: string) => {
      await outcomes(world, [message(box, id, { kind: 'result', interaction, size: 1 })])
      await world.store.ackOpen({ mailbox: box, ids: [id] })
      return await world.store.openTasks()
    }
    expect([await done('a', 'one'), await done('b', 'two'), await done('c', 'two')]).toEqual([1, 2, 2])
    // with the third, the room for what is remembered is full
    expect([await done('d', 'three'), await done('e', 'three'), await done('f', 'three')]).toEqual([3, 4, 4])
  }),

  rule(
    'keeps what an agent says of itself, what the operator says, and when it was last asked for',
    async world => {
      const box = await openBox(world)
      const { store } = world
      expect(await store.openMailbox(box)).toEqual({
        ...profile,
        number: box,
        listed: true,
        polledMs: undefined,
        messages: 0,
      })
      await store.listOpen({ number: box, listed: false })
      await store.notePolled({ number: box, nowMs: NOW_MS })
      const changed = { guestQuota: 0, pricing: 'ask me', address: 'host:1' }
      await store.putOpenProfile({ ...changed, number: box })
      await world.reopen()
      expect(await world.store.openMailbox(box)).toEqual({
        ...changed,
        number: box,
        listed: false,
        polledMs: NOW_MS,
        messages: 0,
      })
      expect(await world.store.openMailbox(world.box)).toBeUndefined()
    },
  ),

  rule('reads many mailboxes at once, and leaves those out whose mail is not open', async world => {
    const [one, other] = [await openBox(world), await openBox(world, 'agent-other')]
    await world.store.listOpen({ number: other, listed: false })
    await outcomes(world, [message(one, 'a')])
    const found = await world.store.openMailboxes([other, world.box, one, other + 1, one])
    expect([...found.keys()].sort()).toEqual([one, other].sort())
    for (const number of [one, other])
      expect(found.get(number)).toEqual(await world.store.openMailbox(number))
    expect(await world.store.openMailboxes([])).toEqual(new Map())
  }),

  rule('draws those that take visitors from any place, each from its own, and nobody else', async world => {
    const { store } = world
    const aids = Array.from({ length: 6 }, (_, n) => `agent-${n}`)
    const boxes = new Map<string, number>()
    for (const aid of aids) boxes.set(aid, await openBox(world, aid))
    const takers = async (place: number, limit = 10, polledAfterMs = 0) =>
      (await store.guestTakers({ place, limit, polledAfterMs })).map(({ aid }) => aid)
    const all = await takers(0)
    expect(new Set(all)).toEqual(new Set(aids))
    const places = [0, 1, 2, 3].map(quarter => quarter * 2 ** 30)
    const firsts = new Set<string | undefined>()
    for (const place of places) {
      const round = await takers(place)
      const turn = all.indexOf(round[0] ?? '')
      expect(round).toEqual([...all.slice(turn), ...all.slice(0, turn)])
      expect(await takers(place, 2)).toEqual(round.slice(0, 2))
      firsts.add(round[0])
    }
    expect(firsts.size).toBeGreaterThan(2)
    const box = (n: number) => boxes.get(`agent-${n}`) ?? 0
    await store.putOpenProfile({ ...profile, guestQuota: 0, number: box(0) })
    await store.listOpen({ number: box(1), listed: false })
    await store.noteLeft({ number: box(2), leftMs: NOW_MS })
    const sealed = await store.findAgent('agent-3')
    if (sealed !== undefined) await world.put({ ...sealed, mail: 'sealed' })
    await store.notePolled({ number: box(4), nowMs: NOW_MS })
    expect(new Set(await takers(0))).toEqual(new Set(['agent-4', 'agent-5']))
    expect(await takers(0, 10, NOW_MS + 1)).toEqual(['agent-5'])
    await world.reopen()
    expect(await world.store.guestTakers({ place: 0, limit: 10, polledAfterMs: NOW_MS + 1 })).toEqual([
      { aid: 'agent-5', name: 'name', guestQuota: 5 },
    ])
  }),

  rule('draws nobody whose mail was not asked for, until it is', async world => {
    const { store } = world
    const [one, other] = [await openBox(world, 'agent-a'), await openBox(world, 'agent-b')]
    await store.notePolled({ number: one, nowMs: NOW_MS })
    await store.notePolled({ number: other, nowMs: NOW_MS + 1 })
    const drawn = async () =>
      (await store.guestTakers({ place: 0, limit: 10, polledAfterMs: 0 })).map(({ aid }) => aid).sort()
    expect(await store.noteAway({ polledBeforeMs: NOW_MS, limit: 1 })).toEqual({ more: false })
    expect(await drawn()).toEqual(['agent-a', 'agent-b'])
    expect(await store.noteAway({ polledBeforeMs: NOW_MS + 2, limit: 1 })).toEqual({ more: true })
    expect(await drawn()).toEqual(['agent-b'])
    expect(await store.noteAway({ polledBeforeMs: NOW_MS + 2, limit: 2 })).toEqual({ more: false })
    expect(await drawn()).toEqual([])
    await store.notePolled({ number: one, nowMs: NOW_MS + 3 })
    expect(await drawn()).toEqual(['agent-a'])
  }),

  rule('lists and counts agents with open mail apart from all others', async world => {
    await openBox(world)
    const listed = async (open?: true) => {
      const query = { afterAid: '', limit: 10, bytesMax: 1e6, rowsMax: 100, ...(open && { open }) }
      return (await world.store.listAgents(query)).rows.map(({ aid }) => aid)
    }
    expect([await listed(true), await listed()]).toEqual([['agent-open'], ['agent-one']])
    expect([await world.store.openAgents(), (await world.store.counts(0)).agents]).toEqual([1, 1])
  }),

  rule('keeps the mail of an agent that left, until its time is over', async world => {
    const box = await openBox(world)
    await outcomes(world, [message(box, 'a', { file: 'f', content: undefined }), message(box, 'b')])
    await world.store.noteLeft({ number: box, leftMs: NOW_MS })
    const sweep = (leftBeforeMs: number) => world.store.sweepOpen({ leftBeforeMs, limit: 1 })
    expect(await sweep(NOW_MS - 1)).toEqual({ files: [], more: false })
    await world.store.noteLeft({ number: box, leftMs: undefined })
    expect(await sweep(NOW_MS)).toEqual({ files: [], more: false })
    await world.store.noteLeft({ number: box, leftMs: NOW_MS })
    expect(await sweep(NOW_MS)).toEqual({ files: ['f'], more: true })
    expect(await sweep(NOW_MS)).toEqual({ files: [], more: true })
    expect((await world.store.openMailbox(box))?.messages).toBe(0)
  }),

  rule('queues what a hub hands on once, as long as it remembers that', async world => {
    const box = await openBox(world)
    const once = (digest: number, more: Partial<OpenOnce> = {}): { once: OpenOnce } => ({
      once: { origin: 'hub-one', digest: bytes(32, digest), sinceMs: NOW_MS, max: 2, ...more },
    })
    const sent = async (id: string, more: Partial<OpenSend>) => {
      const [outcome] = await outcomes(world, [message(box, id, more)])
      await world.store.ackOpen({ mailbox: box, ids: [id] })
      return outcome
    }
    expect([await sent('a', once(1)), await sent('b', once(1))]).toEqual(['queued', 'repeated'])
    await world.reopen()
    expect(await sent('c', once(1))).toBe('repeated')
    expect(await world.store.wasForwarded(bytes(32, 1), NOW_MS)).toBe(true)
    expect(await world.store.wasForwarded(bytes(32, 1), NOW_MS + 1)).toBe(false)
    expect(await world.store.wasForwarded(bytes(32, 2), NOW_MS)).toBe(false)
    expect(await sent('d', { ...once(9), size: 2000 })).toBe('mailboxFull')
    expect(await sent('e', once(9))).toBe('queued')
    const later = { sinceMs: NOW_MS + 1 }
    expect(await sent('f', { ...once(1, later), nowMs: NOW_MS + 5 })).toBe('queued')
    expect(await sent('g', once(3, { origin: 'hub-two' }))).toBe('queued')
    expect(await sent('h', { ...once(4), nowMs: NOW_MS + 9 })).toBe('queued')
    const known = () => Promise.all([9, 1, 3, 4].map(one => world.store.wasForwarded(bytes(32, one), 0)))
    expect(await known()).toEqual([false, true, true, true])
    expect(await world.store.sweepForwarded({ beforeMs: NOW_MS + 6, limit: 1 })).toEqual({ more: true })
    expect(await world.store.sweepForwarded({ beforeMs: NOW_MS + 6, limit: 5 })).toEqual({ more: false })
    expect(await known()).toEqual([false, false, false, true])
    expect([await sent('i', once(5)), await sent('j', once(6))]).toEqual(['queued', 'queued'])
    expect(await world.store.wasForwarded(bytes(32, 4), 0)).toBe(false)
  }),
]
