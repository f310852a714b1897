import { describe, expect, test } from 'vitest'
import { securityRequirements, securitySchemes } from './card-security.ts'

const key = (name: string) => ({ apiKeySecurityScheme: { location: 'header', name } })
const schemes = (value: unknown) => securitySchemes.safeParse(value).success
const requires = (value: unknown) => securityRequirements.safeParse(value).success
const many = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, value]))
const needs = (list: string[]) => ({ schemes: { one: { list } } })

describe('security of a card', () => {
  test('has from one to 64 schemes, with names and texts of one to 4,096 characters', () => {
    expect([many(1, key('x')), many(64, key('x'))].map(schemes)).toEqual([true, true])
    expect([{}, many(65, key('x')), { '': key('x') }].map(schemes)).toEqual([false, false, false])
    const texts = ['', 'x', 'x'.repeat(4096), 'x'.repeat(4097)]
    expect(texts.map(text => schemes({ a: key(text) }))).toEqual([false, true, true, false])
  })

  test('names one flow with its scopes, and no `false`', () => {
    const flow = (given: object) =>
      schemes({ a: { oauth2SecurityScheme: { flows: { authorizationCode: given } } } })
    const urls = { authorizationUrl: 'a', tokenUrl: 't' }
    expect(flow({ ...urls, scopes: { s: 'd' }, pkceRequired: true })).toBe(true)
    expect(flow({ ...urls, scopes: {} })).toBe(false)
    expect(flow({ ...urls, scopes: { s: 'd' }, pkceRequired: false })).toBe(false)
    const two = { clientCredentials: { tokenUrl: 't', scopes: { s: 'd' } }, implicit: {} }
    expect(schemes({ a: { oauth2SecurityScheme: { flows: two } } })).toBe(false)
  })

  test('is required with one to 64 scopes of one to 64 alternatives', () => {
    const scopes = (count: number) => Array.from({ length: count }, (_, n) => `s${n}`)
    expect([0, 1, 64, 65].map(count => requires([needs(scopes(count))]))).toEqual([false, true, true, false])
    expect([0, 1, 64, 65].map(count => requires(Array(count).fill(needs(['s']))))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })
})
