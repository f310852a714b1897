/** Mail from node to node without the hub, at a hub of wire 1. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { type Lab, never, openLab, until } from './world.ts'

let lab: Lab
let alice: Node
beforeAll(async () => {
  lab = await openLab({}, { wires: [1] })
  alice = await lab.member('alice')
})
afterAll(() => lab.close())

const status = (node: Node) => node.handlers.status(undefined, never)
const listed = async (node: Node) => {
  const answer = await fetch(`${lab.hub.url}/agents/${node.aid}/p2p`)
  return answer.status === 404 ? undefined : ((await answer.json()) as { addr: string }).addr
}

describe('an address', () => {
  const address = 'agent.example:4001'

  test('is published by its own command, and the status shows it', async () => {
    expect((await status(alice)).p2p).toBeUndefined()
    expect(await alice.handlers.p2pAdvertise({ address }, never)).toEqual({ status: 'published', address })
    expect((await status(alice)).p2p).toEqual({ address, listed: true })
    expect(await listed(alice)).toBe(address)
  })

  test('is published again by a new registration', async () => {
    await alice.handlers.hubLeave({}, never)
    expect(await listed(alice)).toBeUndefined()
    expect((await status(alice)).p2p).toEqual({ address, listed: false })
    await alice.handlers.hubRegister({ url: lab.line.url, name: 'alice', wire: 1 }, never)
    await until('it is listed', async () => (await listed(alice)) === address)
    expect((await status(alice)).p2p).toEqual({ address, listed: true })
  })

  test('is kept where the hub does not answer, and told once it does', async () => {
    await lab.line.down()
    const elsewhere = 'agent.example:4002'
    await expect(alice.handlers.p2pAdvertise({ address: elsewhere }, never)).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('told to the hub once that answers'),
    })
    expect((await status(alice)).p2p).toEqual({ address: elsewhere, listed: false })
    await lab.line.up()
    alice.wake()
    await until('it is listed', async () => (await listed(alice)) === elsewhere)
  })

  test('is withdrawn without a word', async () => {
    expect(await alice.handlers.p2pAdvertise({}, never)).toEqual({ status: 'withdrawn' })
    expect((await status(alice)).p2p).toBeUndefined()
    expect(await listed(alice)).toBeUndefined()
  })

  test('is refused by a node that has no hub, and by one whose hub lists none', async () => {
    const dora = await lab.start('dora')
    await expect(dora.handlers.p2pAdvertise({ address }, never)).rejects.toMatchObject({ code: 'no_hub' })
    const other = await openLab()
    try {
      const carol = await other.member('carol')
      await expect(carol.handlers.p2pAdvertise({ address }, never)).rejects.toMatchObject({
        code: 'no_direct',
        message: 'the hub of this node seals mail and lists no direct addresses; hubs of wire 1 do',
      })
      expect((await status(carol)).p2p).toBeUndefined()
    } finally {
      await other.close()
    }
  })
})
