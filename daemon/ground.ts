/** Opens a data directory: every part of the node that stands below the line, from the bottom up. */
import type { Logger } from 'pino'
import { Attachments } from './attachments/attachments.ts'
import { openChain } from './chain/chain.ts'
import type { Ground } from './context.ts'
import { type Environment, homeDirectory, runtimeDirectory } from './home/home.ts'
import { lockDirectory } from './home/lock.ts'
import { Settings } from './home/settings.ts'
import { CurrentHub } from './hubs/current.ts'
import { openIdentity } from './identity/identity.ts'
import { MailboxKeys } from './identity/mailbox-keys.ts'
import { Capabilities } from './peers/capabilities.ts'
import { Contacts } from './peers/contacts.ts'
import { PeerBook } from './peers/peers.ts'
import { Events } from './platform/events.ts'
import { ensureSecretDirectory } from './platform/files.ts'
import { defaultTimings, type Timings } from './platform/timings.ts'
import { makeWakers } from './platform/waker.ts'
import { openStore } from './store/open.ts'
import { Threads } from './store/threads.ts'

export type GroundOptions = {
  dir: string
  env: Environment
  now: () => number
  random: (length: number) => Uint8Array
  log: Logger
  timings?: Partial<Timings>
}

/** Everything that is opened is closed with `undo`. */
export async function openGround(options: GroundOptions, undo: AsyncDisposableStack): Promise<Ground> {
  const { dir, env, now, random, log } = options
  ensureSecretDirectory(dir)
  undo.use(lockDirectory(dir))
  const identity = openIdentity(dir, { now, random })
  const { aid } = identity
  const store = undo.adopt(openStore(dir), opened => opened.close())
  const chain = undo.adopt(await openChain(dir, store, identity, now), opened => opened.close())
  const keys = new MailboxKeys(dir, { now, random })
  const events = new Events(now())
  const wakers = makeWakers()
  const hub = new CurrentHub(identity, events, now)
  const attachments = new Attachments(store.folder, random, [dir, homeDirectory(env), runtimeDirectory(env)])
  store.onTaskFailed = error => log.error({ err: error }, 'after a commit')
  chain.onAppend = () => events.emit('evidence', { length: chain.length })
  attachments.clean(store)
  return {
    dir,
    identity,
    keys,
    store,
    chain,
    contacts: new Contacts(store, now),
    peers: new PeerBook(store, now, hub),
    capabilities: new Capabilities(store, keys, { aid, now, random }),
    attachments,
    threads: new Threads(store, aid, { now, random, onQueued: () => wakers.outbox.wake() }),
    hub,
    settings: new Settings(dir, () => events.emit('settings')),
    wakers,
    timings: { ...defaultTimings, ...options.timings },
    events,
    log,
    now,
    hubNow: () => hub.timeMs,
    random,
  }
}
