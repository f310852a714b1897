import { expect, test } from 'vitest'
import { mutated, sitesOf } from './sites.ts'
import { switched } from './switches.ts'

const numbered = (source: string) => sitesOf('a.js', source).map((site, number) => ({ number, site }))

const switchedText = (source: string) => {
  const { source: text, isSwitched } = switched('a.js', source, numbered(source))
  return { text: text.replaceAll('globalThis.changed?.', 'is'), isSwitched }
}

test('an expression is chosen by the number of its change', () => {
  const { text, isSwitched } = switchedText('const f = (a, b) => a === b')
  expect(text).toBe('const f = (a, b) => (is(0) ? (a !== b) : (a === b))')
  expect(isSwitched).toEqual([true])
})

test('changes inside one another have a switch each', () => {
  const { text } = switchedText('const f = (a, b) => !(a && b)')
  expect(text).toBe('const f = (a, b) => (is(0) ? ((a && b)) : (!((is(1) ? (a || b) : (a && b)))))')
})

test('every change does under its number as the source does with it alone', () => {
  const body = 'if (a < b && !c) throw 1; const x = b >= 2 ? true : c || a === 1; return [x, !x]'
  const alone = `function f(a, b, c) { ${body} }`
  const { source: text, isSwitched } = switched('a.js', alone, numbered(alone))
  expect(isSwitched).not.toContain(false)
  const told = (text: string, given: unknown[]) => {
    try {
      return JSON.stringify(new Function(`${text}; return f(...arguments)`)(...given))
    } catch (error) {
      return `threw ${error}`
    }
  }
  for (const { number, site } of numbered(alone)) {
    const changed = mutated(alone, site)
    Object.assign(globalThis, { changed: (asked: number) => asked === number })
    for (const given of [
      [1, 2, false],
      [2, 2, false],
      [3, 1, true],
      [1, 3, true],
    ])
      expect(told(text, given)).toBe(told(changed, given))
    Object.assign(globalThis, { changed: undefined })
    expect(told(text, [1, 2, false])).toBe(told(alone, [1, 2, false]))
  }
})

test('a constant of the file is chosen where it is used', () => {
  const { text, isSwitched } = switchedText('const N_MAX = 3\nconst f = g => g(N_MAX)')
  expect(text).toBe('const N_MAX = 3\nconst f = g => g((is(0) ? (4) : is(1) ? (2) : (N_MAX)))')
  expect(isSwitched).toEqual([true, true])
})

test('what runs as the file is loaded, or is used elsewhere, is left as it is', () => {
  for (const source of ['export const N_MAX = 3', 'const N_MAX = 3\nconst LIST = of(N_MAX)', 'x = a === b']) {
    const { text, isSwitched } = switchedText(source)
    expect(text).toBe(source)
    expect(isSwitched).not.toContain(true)
  }
})
