import { describe, expect, test } from 'vitest'
import { mutated, shuffled, sitesOf } from './sites.ts'

const changes = (source: string) =>
  sitesOf('a.ts', source).map(site => `${site.kind} ${site.line}: ${site.was} -> ${site.text}`)

describe('sites', () => {
  test('a comparison loses its edge or turns round', () => {
    expect(changes('x = a < b')).toEqual(['comparison 1: < -> <=', 'comparison 1: < -> >='])
    expect(changes('x = a >= b')).toEqual(['comparison 1: >= -> >', 'comparison 1: >= -> <'])
    expect(changes('x = a !== b')).toEqual(['comparison 1: !== -> ==='])
  })

  test('a guard is turned round, and one that leaves is dropped', () => {
    expect(changes('if (f(x)) throw new Error()')).toEqual([
      'guard 1: f(x) -> !(f(x))',
      'guard 1: f(x) -> false',
    ])
    expect(changes('if (f(x)) { g(); throw z }').length).toBe(2)
    expect(changes('if (f(x)) g()')).toEqual(['guard 1: f(x) -> !(f(x))'])
    expect(changes('x = f(y) ? 1 : 2')).toEqual(['guard 1: f(y) -> !(f(y))'])
  })

  test('an equality in a guard is turned round once', () => {
    expect(changes('if (x === y) throw z')).toEqual(['guard 1: x === y -> false', 'comparison 1: === -> !=='])
  })

  test('boolean literals and operators change', () => {
    expect(changes('x = (a) /* || */ && !b || true')).toEqual([
      'boolean 1: && -> ||',
      'boolean 1: ! -> ',
      'boolean 1: || -> &&',
      'boolean 1: true -> false',
    ])
  })

  test('limits move by one: named constants, operands of comparisons, bounds of shapes', () => {
    const source = 'const MAX = 0x10\nconst x = s.max(5)\nif (n > 3) f(7)'
    expect(changes(source).filter(change => change.startsWith('limit'))).toEqual([
      'limit 1: 0x10 -> 17',
      'limit 1: 0x10 -> 15',
      'limit 2: 5 -> 6',
      'limit 2: 5 -> 4',
      'limit 3: 3 -> 4',
      'limit 3: 3 -> 2',
    ])
  })

  test('types, imports, strings and comments hold none', () => {
    const source = `import { a } from 'b' with { type: 'true' }
/** a < b && true */
type T = { flag: true; n: 3 } & (A extends B ? true : false)
const text = 'a < b' + \`x === y\`
// if (x) return
const list: Array<Map<string, true>> = []`
    expect(changes(source)).toEqual([])
  })

  test('an expression inside a cast has its sites', () => {
    expect(changes('x = (a && b) as true')).toEqual(['boolean 1: && -> ||'])
  })

  test('a site changes the source in its place only', () => {
    const source = 'a()\nif (x <= y) throw z\nb()'
    expect(sitesOf('a.ts', source).map(site => mutated(source, site))).toEqual([
      'a()\nif (!(x <= y)) throw z\nb()',
      'a()\nif (false) throw z\nb()',
      'a()\nif (x < y) throw z\nb()',
      'a()\nif (x > y) throw z\nb()',
    ])
  })

  test('a source that does not parse is named', () => {
    expect(() => sitesOf('broken.ts', 'if (')).toThrow('broken.ts does not parse')
  })
})

test('the seed alone decides the order', () => {
  const all = Array.from({ length: 100 }, (_, i) => i)
  expect(shuffled(all, 1)).toEqual(shuffled(all, 1))
  expect(shuffled(all, 1)).not.toEqual(shuffled(all, 2))
  expect(shuffled(all, 1).sort((a, b) => a - b)).toEqual(all)
  expect(shuffled(all, 1).slice(0, 8)).not.toEqual(all.slice(0, 8))
})
