/** Agents and waiting envelopes as the hub's store takes them, for measurements that fill a store directly. */
import { defaultLimits } from '../../hub/core/limits.ts'
import { openDataDirectory } from '../../hub/data-dir.ts'
import type { Enqueue, Store } from '../../hub/store/port.ts'
import { random } from '../../hub/testing/hub.ts'
import { systemTimers } from '../../protocol/timers.ts'

const CONTENT_BYTES = 1024
const KEL_BYTES = 512
const BOX_BYTES = 4144
const DAY_MS = 86_400_000
const BATCH = 500

export async function addAgent(store: Store): Promise<number> {
  const stored = await store.putAgent({
    row: {
      number: 0,
      aid: `A${Buffer.from(random(33)).toString('base64url').slice(1)}`,
      version: 0,
      registered: true,
      name: 'one of many',
      caps: ['many'],
      summary: '',
      readme: '',
      visibility: 'public',
      kel: random(KEL_BYTES),
      keys: random(KEL_BYTES),
      keysBefore: undefined,
      keysBeforeUntilMs: 0,
      registeredDayMs: 0,
      probationUntilMs: 0,
      seenHourMs: 0,
      mail: 'none',
      card: undefined,
    },
    entry: { h: random(32), box: random(BOX_BYTES) },
    terms: [],
  })
  if (stored.outcome !== 'stored') throw new Error('an agent was not stored')
  return stored.number
}

/** So many of them, several at once. */
export async function addAgents(store: Store, count: number): Promise<void> {
  for (let done = 0; done < count; done += BATCH)
    await Promise.all(Array.from({ length: Math.min(BATCH, count - done) }, () => addAgent(store)))
}

export function waiting(mailbox: number, contentBytes = CONTENT_BYTES): Enqueue {
  return {
    mailbox,
    digest: random(32),
    nowMs: Date.now(),
    deleteAtMs: Date.now() + DAY_MS,
    size: contentBytes,
    stranger: false,
    content: random(contentBytes),
    file: undefined,
    use: undefined,
    limits: {
      envelopesMax: defaultLimits.mailboxEnvelopesMax,
      bytesMax: defaultLimits.mailboxBytesMax,
      strangerEnvelopesMax: 0,
      strangerBytesMax: 0,
      timesPerDayMax: 1,
    },
  }
}

/** Makes a hub whose agents have so many envelopes waiting, an even share each. */
export async function fillHub(
  directory: string,
  { agents, envelopes }: { agents: number; envelopes: number },
): Promise<void> {
  const outside = { now: Date.now, timers: systemTimers, random, onBroken: () => undefined }
  const data = await openDataDirectory({ directory, ...outside })
  const mailboxes: number[] = []
  for (let done = 0; done < agents; done += BATCH)
    mailboxes.push(...(await Promise.all(Array.from({ length: BATCH }, () => addAgent(data.store)))))
  for (let done = 0; done < envelopes; done += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) =>
      waiting(mailboxes[(done + i) % mailboxes.length] as number),
    )
    await Promise.all(items.map(item => data.store.enqueue(item)))
  }
  await data.close()
}
