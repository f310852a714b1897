/** Reduced motion. */
import { expect, test } from 'vitest'
import { firstView } from '../view/state.ts'
import { NOW, viewOf } from '../view/testing.ts'
import { frameOf } from './frame.ts'
import { plainLines } from './paint.ts'
import { stilled, wantsStill } from './still.ts'
import { Screen } from './testing.ts'

const shown = (screen: Screen, now: number) =>
  plainLines(frameOf(stilled({ ...screen.scene, now })).lines).join('\n')

test('a node that is looked for again is not counted down to', () => {
  const lost = { state: 'lost', says: 'no node answers', since: NOW, retryAt: NOW + 9_000 } as const
  const screen = new Screen({ ...firstView, connection: lost })
  expect(screen.text).toContain('trying again in 9s')
  expect(shown(screen, NOW)).toContain('no node answers; trying again')
  expect(shown(screen, NOW)).toBe(shown(screen, NOW + 5_000))
})

test('a command that runs is not counted up, and still says what stops it', () => {
  const screen = new Screen(viewOf([]))
  const output = { title: 'svc doctor', text: '', top: 0, isRunning: true, since: NOW - 12_000 }
  screen.model = { ...screen.model, output }
  expect(screen.text).toContain('runs, 12s')
  expect(shown(screen, NOW)).toContain('runs; esc stops it')
})

test('is wished for with NO_MOTION, set to anything', () => {
  expect([wantsStill({ NO_MOTION: '1' }), wantsStill({ NO_MOTION: '' }), wantsStill({})]).toEqual([
    true,
    false,
    false,
  ])
})
