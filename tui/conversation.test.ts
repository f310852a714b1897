/** What a message is stays readable on the narrowest terminal. */
import { expect, test } from 'vitest'
import { idOf, NOW, reply, threadOf, turn, viewAfter } from '../view/testing.ts'
import { conversationLines } from './conversation.ts'
import type { Scene } from './scene.ts'

test.each([60, 120])('a gap before a message is told whole, %i columns wide', width => {
  const thread = threadOf(1, { peer_name: 'a-name-of-twenty-one', turns: [turn(1, { missing_before: 12 })] })
  const view = viewAfter(reply('thread', { interaction_id: idOf(1) }, thread))
  const scene = { view, now: NOW } as Scene
  const lines = conversationLines(scene, idOf(1), { width, height: 12 }, { up: 0 })
  const shown = lines.map(line => line.map(({ text }) => text).join(''))
  expect(shown.every(line => line.length === width)).toBe(true)
  expect(shown.join(' ').replace(/[\s│]+/g, ' ')).toContain(
    'signed by a-name-of-twenty-one · 12 messages before it have not come yet',
  )
})
