import { describe, expect, test } from 'vitest'
import { ownNames } from './own-names.ts'

describe('a hub answers', () => {
  const known = ownNames({ baseUrl: 'https://hub.example', listen: '127.0.0.1' })
  test.each([
    ['its own name', 'hub.example', true],
    ['in any case, with a port and the dot of the root', 'HUB.example.:8443', true],
    ['an address of IPv4', '192.0.2.7:8077', true],
    ['an address of IPv6', '[::1]:8077', true],
    ['this machine', 'localhost:8077', true],
    ['a name of this machine', 'a.localhost', true],
    ['a name that was made to lead here', 'rebound.example', false],
    ['a name that ends in its own', 'evil-hub.example', false],
    ['a name below its own', 'a.hub.example', false],
    ['no name', '', false],
    ['something else', 'hub.example@evil.example', false],
  ])('to %s', (_, host, answers) => {
    expect(known(host) === undefined).toBe(answers)
  })

  test('to a request without a Host as before, which no browser sends', () => {
    expect(known(undefined)).toBeUndefined()
  })

  test('on loopback without a name of its own to this machine alone', () => {
    const local = ownNames({ baseUrl: undefined, listen: '127.0.0.1' })
    expect(local('127.0.0.1:8077')).toBeUndefined()
    expect(local('rebound.example:8077')).toContain('the name "rebound.example:8077"')
  })

  test('under any name where others reach it and it knows none', () => {
    expect(ownNames({ baseUrl: undefined, listen: '0.0.0.0' })('hub.example')).toBeUndefined()
  })
})
