import { expect, test } from 'vitest'
import { startTestHub } from '../../hub/testing/hub.ts'
import { never, openLab } from './world.ts'

test('a node solves the proof of work of an open hub and is registered', async () => {
  const lab = await openLab()
  const hub = await startTestHub({ open: true })
  try {
    const node = await lab.start('worker')
    expect(await node.handlers.hubRegister({ url: hub.url }, never)).toMatchObject({ status: 'registered' })
    expect((await node.handlers.status(undefined, never)).hub).toMatchObject({
      state: 'online',
      aid: hub.aid,
    })
  } finally {
    await lab.close()
    await hub.close()
  }
})
