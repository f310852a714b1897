/** The contract of the store on what the operator set, and on the store itself. */
import { expect } from 'vitest'
import { StoreBroken } from '../../store/port.ts'
import { item, type Rule, rule } from './world.ts'

export const operatorRules: readonly Rule[] = [
  rule('keeps accounts, floors that only rise, and settings over a restart', async world => {
    expect(await world.store.account('nobody')).toEqual({
      admitted: false,
      blocked: false,
      floorMs: 0,
      quota: {},
    })
    await world.store.admit('nobody', true)
    await world.store.raiseFloor('nobody', 20)
    await world.store.raiseFloor('nobody', 10)
    await world.store.setQuota('nobody', { envelopesMax: 5 })
    await world.store.putSetting('admission', 'open')
    await world.reopen()
    expect(await world.store.account('nobody')).toMatchObject({
      admitted: true,
      floorMs: 20,
      quota: { envelopesMax: 5 },
    })
    expect(await world.store.setting('admission')).toBe('open')
    expect(await world.store.setting('other')).toBeUndefined()
  }),

  rule('keeps what the operator refuses, and shows whom he and the registry know', async world => {
    await world.store.admit('late', true)
    await world.store.block('bad', true)
    await world.store.block('forgiven', true)
    await world.store.block('forgiven', false)
    await world.store.raiseFloor('signer', 5)
    for (const range of ['192.0.2.0/24', '2001:db8::/32', '198.51.100.0/24'])
      await world.store.refuseRange(range, true)
    await world.store.refuseRange('198.51.100.0/24', false)
    await world.store.refuseRange('192.0.2.0/24', true)
    await world.enqueueAll([item(world.box, 1)])
    await world.reopen()
    expect(await world.store.account('bad')).toMatchObject({ admitted: false, blocked: true })
    expect(await world.store.refusedRanges()).toEqual(['192.0.2.0/24', '2001:db8::/32'])
    const seen = await world.store.overview({ afterAid: '', limit: 10 })
    expect(seen.map(({ aid }) => aid)).toEqual(['agent-one', 'bad', 'late'])
    expect(seen[0]).toMatchObject({ registered: true, admitted: false, blocked: false, envelopes: 1 })
    expect(seen[1]).toMatchObject({ registered: false, blocked: true, envelopes: 0, name: '' })
    const rest = await world.store.overview({ afterAid: 'agent-one', limit: 1 })
    expect(rest.map(({ aid }) => aid)).toEqual(['bad'])
    expect(await world.store.overviewOf('bad')).toEqual(seen[1])
    expect(await world.store.overviewOf('nobody')).toBeUndefined()
  }),

  rule('finds itself in order', async world => {
    await world.enqueueAll([item(world.box, 1)])
    expect(await world.store.check()).toEqual([])
    expect(await world.store.health()).toEqual({ full: false, locked: false, away: false, broken: false })
  }),

  rule('replaces a quota and a setting whole, and leaves the rest of an account', async world => {
    await world.store.block('somebody', true)
    await world.store.setQuota('somebody', { envelopesMax: 5, strangerPerMinute: 1 })
    await world.store.setQuota('somebody', { bytesMax: 7 })
    await world.store.putSetting('one', 'first')
    await world.store.putSetting('one', 'second')
    const { quota, blocked, admitted } = await world.store.account('somebody')
    expect([{ ...quota }, blocked, admitted]).toEqual([{ bytesMax: 7 }, true, false])
    expect(await world.store.setting('one')).toBe('second')
  }),

  rule('where it is local, says what room there is, and gives its reserve up once', async world => {
    const { local } = world.store
    if (local === undefined) return
    const { disk, rows } = await local.room()
    expect([disk > 0, rows > 0, rows <= disk]).toEqual([true, true, true])
    expect([await local.giveUpReserve(), await local.giveUpReserve()]).toEqual([true, false])
    expect(await world.outcomes([item(world.box, 1)])).toEqual(['queued'])
  }),

  rule('refuses every write once it was told that the disk failed, and says so', async world => {
    await world.store.fail(new StoreBroken('the disk failed'))
    await expect(world.store.putSetting('one', 'value')).rejects.toBeInstanceOf(StoreBroken)
    await expect(world.store.enqueue(item(world.box, 1))).rejects.toBeInstanceOf(StoreBroken)
    expect(await world.store.health()).toEqual({ full: false, locked: false, away: false, broken: true })
  }),
]
