// project: programs

/** A hub that went back in time while its nodes went on, over real processes: nodes find the same, wherever its rows lie. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ArchivedServer } from '../../hub/testing/archived-server.ts'
import { withoutPostgres } from '../../hub/testing/postgres-server.ts'
import { PRICE, ProcessWorld, type Reply } from './process-world.ts'

type Who = 'alice' | 'bob'
/** How a hub is saved, and how it is put back to then. */
type Saving = (world: ProcessWorld) => Promise<() => Promise<void>>

const paymentIn = async (world: ProcessWorld, who: Who, id: string) =>
  (await world.ask(who, '/thread', { interaction_id: id }))['payment'] as Reply | undefined

/** A task that alice has paid for and bob has answered. */
async function paidTask(world: ProcessWorld, task: string): Promise<string> {
  const given = { to: world.aids.bob, task, pay: true, max_credits: PRICE }
  const quoted = (await world.ask('alice', '/delegate', given))['interaction_id'] as string
  let id = ''
  await world.until('bob holds the payment', async () => {
    id = String((await paymentIn(world, 'alice', quoted))?.['paid_as'] ?? '')
    return id !== '' && (await paymentIn(world, 'bob', id).catch(() => undefined))?.['state'] === 'held'
  })
  await world.ask('bob', '/message', { interaction_id: id, text: 'an answer' })
  for (const who of ['alice', 'bob'] as const)
    await world.until('it is taken', async () => (await paymentIn(world, who, id))?.['state'] === 'taken')
  return id
}

const texts = async (world: ProcessWorld, who: Who, id: string): Promise<string[]> => {
  const thread = await world.ask(who, '/thread', { interaction_id: id })
  return (thread['turns'] as { text?: string }[]).map(({ text = '' }) => text)
}

/** What a node finds of its account at the hub, without what differs from run to run. */
async function found(world: ProcessWorld, who: Who): Promise<unknown> {
  const { agrees, unknown, missing } = await world.ask(who, '/reconcile')
  const { verified } = await world.ask(who, '/audit-hub').catch(() => ({ verified: 'refused' }))
  const balance = (await world.ask(who, '/balance', undefined, 'GET'))['balance'] as number
  const count = (rows: unknown) => (Array.isArray(rows) ? rows.length : rows)
  return {
    agrees,
    unknown: count(unknown),
    missing: count(missing),
    verified,
    moved: balance - world.had[who],
  }
}

async function story(world: ProcessWorld, save: Saving): Promise<unknown> {
  const first = await paidTask(world, 'a poem')
  const putBack = await save(world)
  const second = await paidTask(world, 'another poem')
  for (const n of [1, 2, 3]) await world.ask('bob', '/message', { interaction_id: second, text: `word ${n}` })
  await world.until('alice has all words', async () =>
    (await texts(world, 'alice', second)).includes('word 3'),
  )
  await putBack()
  for (const n of [4, 5, 6]) await world.ask('bob', '/message', { interaction_id: second, text: `word ${n}` })
  await world.until('alice has those after it', async () =>
    (await texts(world, 'alice', second)).includes('word 6'),
  )
  const words = (await texts(world, 'alice', second)).filter(text => text.startsWith('word'))
  expect(words).toEqual([1, 2, 3, 4, 5, 6].map(n => `word ${n}`))
  expect((await paymentIn(world, 'alice', first))?.['state']).toBe('taken')
  return { alice: await found(world, 'alice'), bob: await found(world, 'bob') }
}

async function inFile(): Promise<unknown> {
  await using world = await new ProcessWorld().open()
  return await story(world, async () => {
    const file = join(world.folder, 'hub-backup')
    await world.hubCommand('hub', 'backup', file)
    return async () => {
      await world.end('hub')
      rmSync(world.dir('hub'), { recursive: true })
      await world.hubCommand('hub', 'restore', file)
      await world.startHub('hub')
    }
  })
}

async function inDatabase(): Promise<unknown> {
  const archived = await ArchivedServer.start()
  try {
    await using world = new ProcessWorld()
    world.database = archived.server
    await world.open()
    return await story(world, async () => {
      const base = archived.backUp()
      archived.mark('before')
      return () => archived.putBack(base, 'before')
    })
  } finally {
    await archived.stop()
  }
}

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a hub that went back in time', () => {
  test('nodes lose no word and no order, and find of their credits what they find at a hub in a file', async () => {
    const file = await inFile()
    expect(await inDatabase()).toEqual(file)
  }, 600_000)
})
