import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileCacheFolder } from './compile-cache.ts'

const home = () => fs.mkdtempSync(join(tmpdir(), 'svc-cache-'))

describe('the folder of compiled code', () => {
  test('is made for its user alone, in the home folder or where the user keeps caches', () => {
    const HOME = home()
    const folder = compileCacheFolder({ HOME })
    expect(folder).toBe(join(HOME, '.cache', 'svc', 'compiled'))
    expect(fs.statSync(folder as string).mode & 0o777).toBe(0o700)
    const caches = home()
    expect(compileCacheFolder({ HOME, XDG_CACHE_HOME: caches })).toBe(join(caches, 'svc', 'compiled'))
    expect(compileCacheFolder({ HOME, XDG_CACHE_HOME: 'relative' })).toBe(folder)
  })

  test('is none below a home that is named relative to where the command runs', () => {
    expect(compileCacheFolder({ HOME: 'relative' })).toBeUndefined()
    expect(fs.existsSync('relative')).toBe(false)
  })

  test('is none in a home that is not there, which stays so', () => {
    const gone = join(home(), 'gone')
    expect(compileCacheFolder({ HOME: gone })).toBeUndefined()
    expect(compileCacheFolder({ HOME: gone, XDG_CACHE_HOME: join(gone, 'caches') })).toBeUndefined()
    expect(fs.existsSync(gone)).toBe(false)
  })

  test.each(['.cache', '.cache/svc', '.cache/svc/compiled'])(
    'is not used where others may write %s',
    path => {
      const HOME = home()
      compileCacheFolder({ HOME })
      fs.chmodSync(join(HOME, path), 0o777)
      expect(compileCacheFolder({ HOME })).toBeUndefined()
      fs.chmodSync(join(HOME, path), 0o720)
      expect(compileCacheFolder({ HOME })).toBeUndefined()
    },
  )

  test('is not used through a link, nor where it cannot be made', () => {
    const [HOME, elsewhere] = [home(), home()]
    fs.mkdirSync(join(HOME, '.cache'), { mode: 0o700 })
    fs.symlinkSync(elsewhere, join(HOME, '.cache', 'svc'))
    expect(compileCacheFolder({ HOME })).toBeUndefined()
    const file = join(home(), 'file')
    fs.writeFileSync(file, '')
    expect(compileCacheFolder({ HOME: file })).toBeUndefined()
    expect(compileCacheFolder({ HOME: '/proc/x' })).toBeUndefined()
  })
})
