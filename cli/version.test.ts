import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { runIn } from './testing.ts'

test('a reply is indented JSON on standard output, and nothing else is said', async () => {
  const { code, out, err } = await runIn(tmpdir(), ['version'])
  expect([code, err]).toEqual([0, ''])
  expect(out).toBe(`${JSON.stringify(JSON.parse(out), null, 2)}\n`)
})
