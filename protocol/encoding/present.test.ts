import { expect, expectTypeOf, test } from 'vitest'
import { present } from './present.ts'

test('members without a value are left out, all others are kept, falsy ones too', () => {
  const given = { a: undefined, b: null, c: 0, d: '', e: false, f: [] as string[] }
  const kept = present(given)
  expect(Object.keys(kept)).toEqual(['b', 'c', 'd', 'e', 'f'])
  expect(kept).toEqual({ b: null, c: 0, d: '', e: false, f: [] })
})

test('a member that may be undefined becomes an optional one', () => {
  const describe = (name: string | undefined, size: number) => present({ name, size })
  expectTypeOf(describe).returns.toEqualTypeOf<{ readonly name?: string; readonly size: number }>()
  expect(describe(undefined, 1)).toEqual({ size: 1 })
})
