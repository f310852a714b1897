import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commonCodes, codes as wire3Codes } from '../wire3/codes.ts'
import { wire3Routes } from '../wire3/routes.ts'
import { BODY_BYTES_DEFAULT, fillPath, matchPath, route } from './route.ts'

describe('a path', () => {
  test.each([
    ['/agents/{aid}/keys', '/agents/Aabc/keys', { aid: 'Aabc' }],
    ['/agents/kel:push', '/agents/kel:push', {}],
    ['/directory:bucket', '/directory:bucket', {}],
    ['/a/{x}/b/{y}', '/a/1/b/2', { x: '1', y: '2' }],
    ['/agents/{aid}', '/agents/a%2Fb', { aid: 'a%2Fb' }],
    ['/agents/{aid}', '/agents/', undefined],
    ['/agents/{aid}', '/agents', undefined],
    ['/agents/{aid}', '/agents/x/', undefined],
    ['/agents/{aid}', '/agents/x/keys', undefined],
    ['/agents/{aid}', '/Agents/x', undefined],
    ['/agents/{aid}', '//agents/x', undefined],
    ['/agents/kel:push', '/agents/kel%3Apush', undefined],
  ])('%s against %s gives %o', (pattern, path, params) => {
    expect(matchPath(pattern, path)).toEqual(params)
  })

  test('is filled so that no value leaves its segment', () => {
    expect(fillPath('/agents/{aid}/keys', { aid: 'Aabc' })).toBe('/agents/Aabc/keys')
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), value => {
        const path = fillPath('/agents/{aid}/keys', { aid: value })
        const given = matchPath('/agents/{aid}/keys', path)?.['aid']
        expect(decodeURIComponent(given ?? '')).toBe(value)
      }),
    )
  })

  test('that lacks a value is a bug that names it', () => {
    expect(() => fillPath('/agents/{aid}')).toThrow(new TypeError('path /agents/{aid} needs aid'))
  })
})

describe('a route', () => {
  test('takes no body on GET and 64 KiB on POST unless it says more', () => {
    expect(route({ method: 'GET', path: '/x', auth: 'none' }).limits).toEqual({ bodyBytes: 0 })
    expect(route({ method: 'POST', path: '/x', auth: 'none' }).limits.bodyBytes).toBe(BODY_BYTES_DEFAULT)
    const given = route({ method: 'POST', path: '/x', auth: 'none', limits: { bodyBytes: 9, items: 2 } })
    expect(given.limits).toEqual({ bodyBytes: 9, items: 2 })
    expect(given.codes).toEqual([])
  })

  test('no two of wire 3 answer the same method and path', () => {
    const rows = Object.values(wire3Routes)
    for (const row of rows) {
      const path = row.path.replace(/\{\w+\}/g, 'x')
      const answering = rows.filter(other => other.method === row.method && matchPath(other.path, path))
      // A literal segment stands before a parameter; the table holds no two rows of one form.
      const forms = answering.map(other => other.path)
      expect(new Set(forms).size, row.path).toBe(forms.length)
      expect(forms).toContain(row.path)
    }
  })

  test('of wire 3 names only codes of the table, and none that every route answers', () => {
    for (const row of Object.values(wire3Routes))
      for (const code of row.codes as readonly string[]) {
        expect(Object.keys(wire3Codes), row.path).toContain(code)
        expect(commonCodes, row.path).not.toContain(code)
      }
  })

  test('of wire 3 that is signed has an action, and no other has', () => {
    for (const row of Object.values(wire3Routes))
      expect('action' in row, row.path).toBe(row.auth === 'signed')
  })
})
