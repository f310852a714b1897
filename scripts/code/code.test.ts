import { describe, expect, test } from 'vitest'
import { longFunctions } from './functions.ts'

const lines = (n: number, line = '  work()\n') => line.repeat(n)

describe('the length of a function', () => {
  test('counts the functions that stand in it, and no blank lines', () => {
    const inner = `  const inner = () => {\n${lines(5)}  }\n`
    const source = `function outer() {\n${inner}\n\n${lines(3)}}\n`
    expect(longFunctions('a.ts', source, 11)).toEqual([{ line: 1, lines: 12 }])
    expect(longFunctions('a.ts', source, 12)).toEqual([])
    expect(longFunctions('a.ts', source, 6)).toHaveLength(2)
  })

  test('is that of methods too', () => {
    expect(longFunctions('a.ts', `class A {\n  #b(): void {\n${lines(9)}  }\n}\n`, 8)).toHaveLength(1)
  })
})
