import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { ACCESS_REFUSED } from '../../daemon/store/outbox.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { delegated, inboxIds, type Lab, never, openLab, stateOf, texts, thread, until } from './world.ts'

let lab: Lab
let bob: Node

beforeAll(async () => {
  lab = await openLab()
  bob = await lab.member('bob')
})

afterAll(() => lab.close())

const contactOfBob = async (name: string) => {
  const node = await lab.member(name)
  await bob.handlers.contactAdd({ aid: node.aid, petname: name }, never)
  return node
}
const held = (node: Node) =>
  node.ctx.store.get<{ n: number }>('SELECT count(*) AS n FROM capabilities_held')?.n ?? 0
const capabilityMessages = (from: Node, to: Node) =>
  from.ctx.store.get<{ n: number }>(
    'SELECT count(*) AS n FROM messages WHERE kind = ? AND recipient = ? AND direction = ?',
    kinds.capabilities,
    to.aid,
    'out',
  )?.n ?? 0
const bigFile = (name: string, bytes: number) => {
  const path = join(lab.folder, name)
  writeFileSync(path, Buffer.alloc(bytes, 7))
  return path
}

describe('a correspondent who is never answered', () => {
  test('gets capabilities by itself, coalesced, and never runs into the limit of strangers', async () => {
    const alice = await contactOfBob('alice')
    const ids: string[] = []
    for (let i = 0; i < 15; i++)
      ids.push((await alice.handlers.delegate({ to: bob.aid, task: `task ${i}` }, never)).interaction_id)
    await until('all arrive', async () => {
      const held = new Set(
        (await bob.handlers.inbox({ limit: 50 }, never)).items.map(one => one.interaction_id),
      )
      return ids.every(id => held.has(id))
    })
    expect(held(alice)).toBeGreaterThan(0)
    expect(capabilityMessages(bob, alice)).toBeGreaterThan(0)
    expect(capabilityMessages(bob, alice)).toBeLessThan(10)
  })

  test('a stranger whose task waits for approval gets none until it is approved', async () => {
    const sam = await lab.member('sam')
    const id = await delegated(sam, bob, 'may I')
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(await stateOf(bob, id)).toBe('pending')
    expect(capabilityMessages(bob, sam)).toBe(0)
    await bob.handlers.approve({ interaction_id: id }, never)
    await until('sam holds capabilities', () => held(sam) > 0)
  })

  test('a blocked correspondent gets none', async () => {
    const eve = await contactOfBob('eve')
    await delegated(eve, bob, 'hello')
    await bob.handlers.contactBlock({ peer: eve.aid, blocked: true }, never)
    const before = capabilityMessages(bob, eve)
    bob.ctx.capabilities.forgetIssued(eve.aid)
    bob.ctx.topUps.note(eve.aid)
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(capabilityMessages(bob, eve)).toBe(before)
  })
})

describe('a credential that the hub refuses', () => {
  test('of the present epoch: two more are tried, then it waits for others, and goes once the block is lifted; the sender never names itself', async () => {
    const gina = await contactOfBob('gina')
    const id = await delegated(gina, bob, 'hello')
    await until('gina holds capabilities', () => held(gina) > 0)
    await gina.handlers.message({ interaction_id: id, text: 'one' }, never)
    await until('it arrives', async () => (await texts(bob, id)).includes('one'))
    await bob.handlers.contactBlock({ peer: gina.aid, blocked: true }, never)
    await until('revoked', () => bob.ctx.store.get('SELECT 1 FROM revocations') === undefined)
    const before = held(gina)
    const { turn } = await gina.handlers.message({ interaction_id: id, text: 'two' }, never)
    const delivery = async () => (await thread(gina, id)).turns[turn - 1]?.delivery
    await until('it waits', async () => (await delivery())?.reason === ACCESS_REFUSED)
    expect((await delivery())?.state).toBe('queued')
    expect(held(gina)).toBe(before - 3)
    gina.ctx.store.run('UPDATE outbox SET next_at = 0')
    gina.wake()
    await until(
      'it was looked for others',
      async () => ((await delivery())?.next_try_at ?? 0) > gina.ctx.now() + 600_000,
    )
    expect(await delivery()).toMatchObject({ state: 'queued', reason: ACCESS_REFUSED })
    expect(held(gina)).toBe(before - 3)
    expect(await texts(bob, id)).not.toContain('two')
    await bob.handlers.contactBlock({ peer: gina.aid, blocked: false }, never)
    await until('it arrives', async () => (await texts(bob, id)).includes('two'))
  })

  test('because of a block that is lifted: what was refused meanwhile goes, and all that follows goes at once', async () => {
    const jana = await contactOfBob('jana')
    const id = await delegated(jana, bob, 'hello')
    await until('jana holds capabilities', () => held(jana) > 0)
    await bob.handlers.contactBlock({ peer: 'jana', blocked: true }, never)
    await until('revoked', () => bob.ctx.store.get('SELECT 1 FROM revocations') === undefined)
    const meanwhile = await jana.handlers.delegate({ to: bob.aid, task: 'refused meanwhile' }, never)
    const state = async (one: string) => (await thread(jana, one)).turns[0]?.delivery
    await until('it waits', async () => (await state(meanwhile.interaction_id))?.reason === ACCESS_REFUSED)
    await bob.handlers.contactBlock({ peer: 'jana', blocked: false }, never)
    await until('it arrives', async () => (await inboxIds(bob)).includes(meanwhile.interaction_id))
    for (let n = 0; n < 20; n++) {
      const { interaction_id } = await jana.handlers.delegate({ to: bob.aid, task: `after ${n}` }, never)
      await until(`${n} is through`, async () => (await inboxIds(bob)).includes(interaction_id))
    }
    await jana.handlers.message({ interaction_id: id, text: 'and here' }, never)
    await until('it arrives', async () => (await texts(bob, id)).includes('and here'))
    const failed = jana.ctx.store.get("SELECT count(*) AS n FROM messages WHERE delivery = 'failed'")
    expect(failed).toEqual({ n: 0 })
  })

  test('because of a block that is lifted at once, again and again, leaves nobody without', async () => {
    const kara = await contactOfBob('kara')
    await delegated(kara, bob, 'hello')
    await until('kara holds capabilities', () => held(kara) > 0)
    for (let n = 0; n < 40; n++)
      for (const blocked of [true, false]) {
        await bob.handlers.contactBlock({ peer: 'kara', blocked }, never)
        if (!blocked) bob.ctx.capabilities.topUp(kara.aid, true)
      }
    await bob.handlers.contactBlock({ peer: 'kara', blocked: true }, never)
    await until('revoked', () => bob.ctx.store.get('SELECT 1 FROM revocations') === undefined)
    expect(bob.ctx.capabilities.isLow(kara.aid)).toBe(true)
  })

  test('of a previous epoch: the old stock is dropped and the message goes under what is good now', async () => {
    const hugo = await contactOfBob('hugo')
    const id = await delegated(hugo, bob, 'hello')
    await until('hugo holds capabilities', () => held(hugo) > 0)
    bob.ctx.keys.startEpoch()
    bob.ctx.capabilities.voidIssued()
    await bob.handlers.hubRegister({ url: lab.line.url }, never)
    await hugo.handlers.message({ interaction_id: id, text: 'still there' }, never)
    await until('it arrives', async () => (await texts(bob, id)).includes('still there'))
  })

  test('is not used up by attempts that never reach the hub', async () => {
    const ines = await contactOfBob('ines')
    await delegated(ines, bob, 'hello')
    await until('ines holds capabilities', () => held(ines) > 0)
    const uses = () => ines.ctx.store.get<{ n: number }>('SELECT sum(uses) AS n FROM capabilities_held')?.n
    const before = uses() ?? 0
    await lab.line.down()
    await ines.handlers.delegate({ to: bob.aid, task: 'patience' }, never)
    await until('several attempts', () => {
      // while the hub is away one look at a time is made, after growing pauses
      lab.hub.clock.advance(1000)
      ines.wake()
      return (ines.ctx.store.get<{ n: number }>('SELECT max(attempts) AS n FROM outbox')?.n ?? 0) > 2
    })
    // The first attempt may have been cut on a standing connection, where nobody knows what the hub did; one more may run.
    expect(uses()).toBeLessThanOrEqual(before + 2)
    await lab.line.up()
  })
})

describe('what is larger than a stranger may send', () => {
  test('a first contact goes ahead without its attachment, which follows under a capability', async () => {
    const carl = await contactOfBob('carl')
    const attach = [bigFile('large.bin', 2 * 1024 * 1024)]
    const { interaction_id } = await carl.handlers.delegate({ to: bob.aid, task: 'keep', attach }, never)
    await until('the task arrives', async () => (await inboxIds(bob)).includes(interaction_id))
    await until('the file follows', async () =>
      (await thread(bob, interaction_id)).turns.some(turn => turn.attachments[0]?.path),
    )
  })

  test('it stays queued with the reason while there is no capability, and goes once there is one', async () => {
    const dan = await lab.member('dan')
    const id = await delegated(dan, bob, 'stranger')
    const attach = [bigFile('more.bin', 2 * 1024 * 1024)]
    await dan.handlers.message({ interaction_id: id, text: 'see file', attach }, never)
    await until('the reason shows', async () => {
      const delivery = (await thread(dan, id)).turns.at(-1)?.delivery
      return delivery?.state === 'queued' && delivery.reason?.startsWith('too large for a stranger') === true
    })
    await bob.handlers.approve({ interaction_id: id }, never)
    await until('it arrives', async () =>
      (await thread(bob, id)).turns.some(turn => turn.attachments[0]?.path),
    )
    expect(await texts(bob, id)).toEqual(['stranger', 'see file'])
  })

  test('a correspondent whose stock was lost asks for a new one with an empty message', async () => {
    const finn = await contactOfBob('finn')
    const id = await delegated(finn, bob, 'first')
    await until('finn holds capabilities', () => held(finn) > 0)
    lab.hub.clock.advance(2 * 3_600_000)
    finn.ctx.store.run('DELETE FROM capabilities_held')
    const attach = [bigFile('third.bin', 2 * 1024 * 1024)]
    await finn.handlers.message({ interaction_id: id, text: '', attach }, never)
    await until('it arrives', async () =>
      (await thread(bob, id)).turns.some(turn => turn.attachments[0]?.path),
    )
    expect(capabilityMessages(finn, bob)).toBe(1)
  })
})
