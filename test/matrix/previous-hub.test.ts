// project: programs

/** A hub that was left, over real processes: restored to before the move, it shows the account again and is owed nothing less. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PRICE, ProcessWorld } from './process-world.ts'

test('a previous hub that was restored to before the move shows the account, and gives again what it lost', async () => {
  await using world = await new ProcessWorld().open()
  const url = world.line('bob').url
  await world.openHub('hub2')
  const given = { to: world.aids.bob, task: 'a poem', pay: true, max_credits: PRICE }
  const quoted = String((await world.ask('alice', '/delegate', given))['interaction_id'])
  const paymentIn = async (who: 'alice' | 'bob', id: string) =>
    (await world.ask(who, '/thread', { interaction_id: id }))['payment'] as
      | Record<string, unknown>
      | undefined
  let id = ''
  await world.until('bob holds the payment', async () => {
    id = String((await paymentIn('alice', quoted))?.['paid_as'] ?? '')
    return id !== '' && (await paymentIn('bob', id).catch(() => undefined))?.['state'] === 'held'
  })
  const file = join(world.folder, 'hub-backup')
  await world.hubCommand('hub', 'backup', file)
  await world.ask('bob', '/message', { interaction_id: id, text: 'roses are red' })
  await world.until('it is taken', async () => (await paymentIn('bob', id))?.['state'] === 'taken')
  await world.join('hub2', ['bob'])
  await world.end('hub')
  rmSync(world.dir('hub'), { recursive: true })
  await world.hubCommand('hub', 'restore', file)
  await world.startHub('hub')
  const balance = async () =>
    (await world.ask('bob', `/balance?hub=${encodeURIComponent(url)}`, undefined, 'GET'))['balance']
  expect(await balance()).toBe(world.had.bob)
  expect(await world.ask('bob', '/reconcile', { hub: url })).toMatchObject({ agrees: true })
  expect(await balance()).toBe(world.had.bob + PRICE)
  expect(await world.ask('bob', '/audit-hub', { hub: url })).toMatchObject({ verified: true })
}, 300_000)
