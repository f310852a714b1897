import { expect, test } from 'vitest'
import { dice } from '../chaos/dice.ts'
import { draw } from './disturbances.ts'

test('no hub is put back to a moment at which a peer was off its list', () => {
  const drawn = Array.from({ length: 5000 }, (_, seed) =>
    draw(dice(seed))
      .map(({ name }) => name)
      .sort()
      .join(', '),
  )
  expect(drawn.filter(names => names === 'hub restored, peer unlisted')).toEqual([])
  expect(new Set(drawn)).toContain('line cut, peer unlisted')
})
