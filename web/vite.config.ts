import preact from '@preact/preset-vite';
import { defineConfig, type Plugin } from 'vite';

/** Every address needs the token, which the server puts in when it serves the page. */
const tokens: Plugin = {
  name: 'tokens',
  enforce: 'post',
  transformIndexHtml: {
    order: 'post',
    handler: (html) =>
      html.replace(/((?:src|href)="\/page\/[^"]+)"/g, '$1?token=__TOKEN__"').replaceAll(' crossorigin', ''),
  },
};

// Fixed names without hashes: the program embeds these files, and CI compares them.
export default defineConfig({
  base: '/page/',
  plugins: [preact({ devToolsEnabled: false }), tokens],
  build: {
    outDir: '../crates/handful-studio/page',
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: 'app.js', assetFileNames: 'app[extname]' },
    },
  },
});
