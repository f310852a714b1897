/** One stream of events for all tabs: who reads it, what the others hear, and what nobody else can tell them. */
import { registerHooks } from 'node:module'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { NodeEventSeen } from '../../view/node-client.ts'

const NAME = 'svc events'
const key = new Uint8Array(32).fill(7)
let now: number
let channels: BroadcastChannel[]
let stops: AbortController[]

beforeEach(() => {
  now = 1_790_000_000_000
  stops = []
  channels = []
  const Real = globalThis.BroadcastChannel
  vi.stubGlobal(
    'BroadcastChannel',
    class extends Real {
      constructor(name: string) {
        super(name)
        channels.push(this)
      }
    },
  )
})
afterEach(async () => {
  for (const stop of stops) stop.abort()
  await settled()
  for (const channel of channels) channel.close()
  vi.unstubAllGlobals()
})

const COPY = /\?copy=\d+$/
/** What a copy of a module of the page imports from there is of the same copy. */
const hooks = registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const [copy] = COPY.exec(context.parentURL ?? '') ?? []
    return copy === undefined || !found.url.includes('/console/page/')
      ? found
      : { ...found, url: `${found.url}${copy}` }
  },
})
afterAll(() => hooks.deregister())

let copies = 0
/** A module as another page has it: nothing that it keeps is shared. */
const copyOf = (path: string): Promise<unknown> => import(`${path}?copy=${++copies}`)

const settled = async () => {
  for (let n = 0; n < 20; n++) await new Promise(resolve => setTimeout(resolve, 1))
}
const event = (id: string): NodeEventSeen => ({ id, event: 'message', data: id })
const OPEN: NodeEventSeen = { id: null, event: 'open', data: null }

/** A stream of a node that a test fills. */
function source() {
  const asked: (string | undefined)[] = []
  const waiting: (() => void)[] = []
  const queue: (NodeEventSeen | 'end')[] = []
  async function* events(since: string | undefined, signal: AbortSignal): AsyncGenerator<NodeEventSeen> {
    asked.push(since)
    yield OPEN
    while (!signal.aborted) {
      const next = queue.shift()
      if (next === 'end') return
      if (next !== undefined) yield next
      else
        await new Promise<void>(resolve => {
          waiting.push(resolve)
          signal.addEventListener('abort', () => resolve())
        })
    }
  }
  const says = async (...given: (NodeEventSeen | 'end')[]) => {
    queue.push(...given)
    for (const wake of waiting.splice(0)) wake()
    await settled()
  }
  return { asked, events, says }
}

/** A tab: each has a copy of the module, as each page has. */
async function tab(
  events: ReturnType<typeof source>['events'],
  given: { key?: Uint8Array; since?: string } = {},
) {
  const { sharedEvents } = (await copyOf('./shared-events.ts')) as typeof import('./shared-events.ts')
  const heard: string[] = []
  const lost = vi.fn()
  const peer = { lose: lost, tabs: async () => ({ key: given.key ?? key, now: () => now }) }
  const stop = new AbortController()
  stops.push(stop)
  const follow = sharedEvents(events, peer)
  const reading = (async () => {
    for await (const one of follow(given.since, stop.signal)) heard.push(one.id ?? one.event)
    heard.push('end')
  })()
  await settled()
  return { heard, lost, stop, reading }
}

describe('tabs of one console', () => {
  test('read one stream, and hear the same', async () => {
    const node = source()
    const first = await tab(node.events)
    const second = await tab(node.events)
    await node.says(event('1'), event('2'))
    expect(node.asked).toEqual([undefined])
    expect([first.heard, second.heard]).toEqual([
      ['open', '1', '2'],
      ['open', '1', '2'],
    ])
  })

  test('go on where the one that read the stream is closed, from what they have heard', async () => {
    const node = source()
    const first = await tab(node.events)
    const second = await tab(node.events)
    await node.says(event('1'))
    first.stop.abort()
    await settled()
    expect(node.asked).toEqual([undefined, '1'])
    await node.says(event('2'))
    expect(second.heard).toEqual(['open', '1', 'open', '2'])
    expect(second.lost).toHaveBeenCalled()
  })

  test('hear that another one reads the stream now, and miss nothing of it', async () => {
    const node = source()
    const first = await tab(node.events)
    await tab(node.events)
    const third = await tab(node.events)
    await node.says(event('1'))
    first.stop.abort()
    await settled()
    await node.says(event('2'))
    expect(node.asked).toEqual([undefined, '1'])
    expect(third.heard).toEqual(['open', '1', 'open', '2'])
    expect(third.lost).toHaveBeenCalled()
  })

  test('read everything anew where they have not heard all of it', async () => {
    const node = source()
    await tab(node.events)
    await node.says(event('5'))
    const knows = await tab(node.events, { since: '5' })
    const missed = await tab(node.events, { since: '3' })
    expect([knows.heard, missed.heard]).toEqual([['open'], ['open', 'reset']])
  })

  test('hear nothing of one that has another key, and read a stream of their own after twenty seconds', async () => {
    const node = source()
    const foreign = source()
    await tab(foreign.events, { key: new Uint8Array(32).fill(8) })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    const waiting = tab(node.events)
    await vi.advanceTimersByTimeAsync(19_000)
    expect(node.asked).toEqual([])
    await vi.advanceTimersByTimeAsync(2_000)
    vi.useRealTimers()
    await waiting
    await settled()
    expect(node.asked).toEqual([undefined])
  })

  test('hear nothing that is older than twenty seconds', async () => {
    const node = source()
    await tab(node.events)
    const second = await tab(node.events)
    now += 20_000
    await node.says(event('1'))
    expect(second.heard).toEqual(['open', '1'])
    const { TabChannel } = await import('./tab-channel.ts')
    const heard: unknown[] = []
    const at = (ms: number) => ({ tabs: async () => ({ key, now: () => ms }) }) as never
    using _hears = new TabChannel<object>('ages', at(now), told => heard.push(told))
    const { TabChannel: Other } = (await copyOf('./tab-channel.ts')) as typeof import('./tab-channel.ts')
    for (const ms of [now - 20_001, now - 20_000, now + 20_000, now + 20_001]) {
      using says = new Other<object>('ages', at(ms), () => {})
      says.tell({ ms })
      await settled()
    }
    expect(heard).toEqual([{ ms: now - 20_000 }, { ms: now + 20_000 }])
  })

  test('tell nobody anything while the node does not prove itself, and take nothing that is no message of theirs', async () => {
    const { TabChannel } = await import('./tab-channel.ts')
    const heard: unknown[] = []
    const peer = { tabs: async () => ({ key, now: () => now }) } as never
    const channel = new TabChannel<object>('odd', peer, told => heard.push(told))
    const raw = new BroadcastChannel('odd')
    for (const odd of ['text', { at: now }, new Uint8Array(5), new Uint8Array(40)]) raw.postMessage(odd)
    channel.tell({ own: true })
    const silent = new TabChannel<object>(
      'odd',
      { tabs: () => Promise.reject(new Error('gone')) } as never,
      () => heard.push('silent'),
    )
    silent.tell({ silent: true })
    await settled()
    expect(heard).toEqual([])
    channel[Symbol.dispose]()
    silent[Symbol.dispose]()
  })
})

describe('a tab alone', () => {
  test('has the node prove itself anew once the stream has ended', async () => {
    const node = source()
    const { lost, reading, heard } = await tab(node.events)
    expect(lost).not.toHaveBeenCalled()
    await node.says('end')
    await reading
    expect(heard).toEqual(['open', 'end'])
    expect(lost).toHaveBeenCalled()
  })

  test('reads the stream itself where the browser has no locks', async () => {
    vi.stubGlobal('navigator', {})
    const node = source()
    const { heard } = await tab(node.events, { since: '4' })
    await tab(node.events)
    await node.says(event('5'))
    expect(node.asked).toEqual(['4', undefined])
    expect(heard).toContain('open')
    expect(channels).toEqual([])
  })
})

test('the channel of the tabs has one name', async () => {
  await tab(source().events)
  expect(new Set(channels.map(({ name }) => name))).toEqual(new Set([NAME]))
})
