import { describe, expect, test } from 'vitest'
import { post, targetOf } from './targets.ts'

describe('a push goes', () => {
  test('to a host that the owner listed, also over http and at one port alone', () => {
    expect(targetOf('http://box.lan/told', ['box.lan']).isListed).toBe(true)
    expect(targetOf('http://127.0.0.1:8080/', ['127.0.0.1:8080']).isListed).toBe(true)
    expect(() => targetOf('http://127.0.0.1:8081/', ['127.0.0.1:8080'])).toThrow('only https is called')
    expect(() => targetOf('http://box.lan.evil.example/', ['box.lan'])).toThrow('only https is called')
  })

  test.each([
    ['https://2130706433/', 'not of the public network'],
    ['https://0x7f.1/', 'not of the public network'],
    ['https://[::ffff:127.0.0.1]/', 'not of the public network'],
    ['https://user@example.com/', 'holds no password'],
    ['gopher://example.com/', 'begins with https'],
    ['', 'begins with https'],
  ])('never to %s', (url, why) => expect(() => targetOf(url, [])).toThrow(why))
})

test('a name that leads to an address of this machine is not called', async () => {
  const target = targetOf('https://localhost:9/hook', [])
  const called = post(target, {}, '{}', AbortSignal.timeout(5_000))
  await expect(called).rejects.toThrow('the host is not of the public network')
})
