/** The default theme, with room for the 100 columns that code here is formatted to. */
import DefaultTheme from 'vitepress/theme';
import './style.css';

export default DefaultTheme;
