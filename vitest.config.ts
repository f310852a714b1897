import { defineConfig } from 'vitest/config'

const slow = ['**/*.slow.test.ts']
const never = ['**/node_modules/**', '**/dist/**', '**/.tsbuild/**']

export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'quick', include: ['**/*.test.ts'], exclude: [...never, ...slow], testTimeout: 20_000 },
      },
      { test: { name: 'slow', include: slow, exclude: never, testTimeout: 3_600_000, hookTimeout: 120_000 } },
    ],
  },
})
